import fc from 'fast-check'
import { DRIVERS } from '../../conformance/drivers.ts'
import { at, type Driver } from '../../support/backend-driver.ts'
import { BesideCore, CORE_COMMANDS, type CoreCommand } from '../../support/beside-core.ts'
import { CoreDriver } from '../../support/core-driver.ts'
import { limit, STEPS, time, type Verb, verb } from '../commands.ts'
import { machine } from '../machine.ts'

type Simple = Extract<Verb, { do: CoreCommand['do'] }>
const simple = verb.filter((one): one is Simple => CORE_COMMANDS.some((name) => name === one.do))

/** The pure core against both, for one key. Each command is one input. */
export const againstCore = machine({
  name: 'core against memory and Redis',
  inputs: fc.tuple(limit, fc.array(fc.tuple(simple, time), { minLength: 1, maxLength: STEPS, size: 'max' })),
  few: 200,
  share: 8,
  size: STEPS / 2,
  open: async () => {
    const give = async ([first, trace]: [string, [Simple, number][]]) => {
      for (const [, open] of DRIVERS) {
        const driver = await open({ '*': first })
        try {
          await playToCore(driver, new CoreDriver(first), trace)
        } finally {
          await driver.close()
        }
      }
      return trace.length
    }
    return { give, close: async () => undefined }
  },
})

async function playToCore(
  driver: Driver,
  core: CoreDriver,
  trace: readonly [Simple, number][],
): Promise<void> {
  const both = new BesideCore(driver, core)
  let now = at(0)
  for (const [verb, lapse] of trace) {
    now += lapse
    await both.give(verb.do === 'freeze' ? { do: 'freeze', duration: verb.time } : verb, now)
  }
}
