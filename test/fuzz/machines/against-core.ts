import fc from 'fast-check'
import { expect } from 'vitest'
import { DRIVERS } from '../../conformance/drivers.ts'
import { at, COMPLETED, type Driver, request } from '../../support/backend-driver.ts'
import { CoreDriver } from '../../support/core-driver.ts'
import { limit, STEPS, time, type Verb, verb } from '../commands.ts'
import { machine } from '../machine.ts'

const simple = verb.filter((one) =>
  ['admit', 'cancel', 'start', 'freeze', 'unfreeze', 'pause', 'resume', 'setRule'].includes(one.do),
)

/** The pure core against both, for one key. Each command is one input. */
export const againstCore = machine({
  name: 'core against memory and Redis',
  inputs: fc.tuple(limit, fc.array(fc.tuple(simple, time), { minLength: 1, maxLength: STEPS, size: 'max' })),
  few: 200,
  share: 8,
  size: STEPS / 2,
  open: async () => {
    const give = async ([first, trace]: [string, [Verb, number][]]) => {
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

async function playToCore(driver: Driver, core: CoreDriver, trace: readonly [Verb, number][]): Promise<void> {
  let now = at(0)
  let count = 0
  for (const [verb, lapse] of trace) {
    now += lapse
    expect((await driver.expire(now)).sort()).toEqual(core.expire(now).sort())
    await driver.forget(now)
    core.forget(now)
    switch (verb.do) {
      case 'admit': {
        const deadline = verb.patience === null ? Number.POSITIVE_INFINITY : now + verb.patience
        const id = `j${count++}`
        const answer = await driver.admit(request(id, { cost: verb.cost, deadline }), now)
        expect(answer).toMatchObject(core.admit(id, verb.cost, deadline, now))
        break
      }
      case 'cancel': {
        const id = `j${verb.which % (count + 1)}`
        expect(await driver.cancel(id, now)).toBe(core.cancel(id))
        break
      }
      case 'start': {
        const started = await driver.startNext(now)
        if (started !== undefined) await driver.finish(started.id, COMPLETED, now)
        expect(started && [started.id, started.slot]).toEqual(core.startNext(now))
        break
      }
      case 'freeze':
        expect(await driver.freeze('a', now + verb.time, now)).toBe(core.freeze(now + verb.time))
        break
      case 'unfreeze':
        expect(await driver.unfreeze('a', now)).toBe(core.unfreeze(now))
        break
      case 'pause':
        await driver.pause('a', now)
        core.pause()
        break
      case 'resume':
        await driver.resume('a', now)
        core.resume(now)
        break
      case 'setRule':
        await driver.setRule('*', verb.limit, now)
        core.setLimit(verb.limit)
    }
  }
}
