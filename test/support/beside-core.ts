import { expect } from 'vitest'
import { COMPLETED, type Driver, request } from './backend-driver.ts'
import type { CoreDriver } from './core-driver.ts'

/** What the core can do; durations are microseconds. */
export type CoreCommand =
  | {
      readonly do: 'admit'
      readonly cost: number
      readonly patience: number | null
      readonly tokens?: number | undefined
    }
  | { readonly do: 'cancel'; readonly which: number }
  | { readonly do: 'freeze'; readonly duration: number }
  | { readonly do: 'setRule'; readonly limit: string }
  /** `settles`: what the job says that it really counted, if its limit counts tokens. */
  | { readonly do: 'start'; readonly settles?: number | undefined }
  | { readonly do: 'unfreeze' | 'pause' | 'resume' }

export const CORE_COMMANDS = [
  'admit',
  'cancel',
  'start',
  'freeze',
  'unfreeze',
  'pause',
  'resume',
  'setRule',
] as const satisfies readonly CoreCommand['do'][]

/** A line with one key beside the core: each command is given to both, and both must answer alike. */
export class BesideCore {
  readonly #driver: Driver
  readonly #core: CoreDriver
  #admitted = 0

  constructor(driver: Driver, core: CoreDriver) {
    this.#driver = driver
    this.#core = core
  }

  async give(command: CoreCommand, now: number): Promise<void> {
    const [driver, core] = [this.#driver, this.#core]
    expect((await driver.expire(now)).sort()).toEqual(core.expire(now).sort())
    await driver.forget(now)
    // Redis remembers what counted in quotas for longer, since a step of its clock may be reported late.
    const isKnown = core.hasQuotas && (await driver.inspect('a', now)) !== undefined
    if (!isKnown && core.hasQuotas) expect(core.isIdle(now)).toBe(true)
    if (!isKnown) core.forget(now)
    switch (command.do) {
      case 'admit': {
        const deadline = command.patience === null ? Number.POSITIVE_INFINITY : now + command.patience
        const id = `j${this.#admitted++}`
        const { cost, tokens } = command
        const costs = tokens === undefined ? undefined : { tokens }
        const answer = await driver.admit(request(id, { cost, deadline, ...(costs && { costs }) }), now)
        expect({ isEstimate: false, ...answer }).toMatchObject(core.admit(id, cost, deadline, now, costs))
        break
      }
      case 'cancel': {
        // The last of these ids is unknown.
        const id = `j${command.which % (this.#admitted + 1)}`
        expect(await driver.cancel(id, now)).toBe(core.cancel(id))
        break
      }
      case 'start': {
        const started = await driver.startNext(now)
        const isSettled = command.settles !== undefined && core.counts('tokens')
        const actual = isSettled ? { tokens: command.settles } : undefined
        if (started !== undefined) {
          if (actual !== undefined) expect(await driver.settle(started.id, actual, now)).toBe(true)
          await driver.finish(started.id, COMPLETED, now)
        }
        expect(started && [started.id, started.slot]).toEqual(core.startNext(now, actual))
        break
      }
      case 'freeze': {
        const until = now + command.duration
        expect(await driver.freeze('a', until, now)).toBe(core.freeze(until))
        break
      }
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
        await driver.setRule('*', command.limit, now)
        core.setLimit(command.limit, now)
    }
  }
}
