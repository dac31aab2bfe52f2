import { isVelvetRopeError } from '../../../src/index.ts'
import type { Silence, Struck } from '../actors/faults.ts'
import type { Plan } from '../plan/plan.ts'
import type { Delays } from '../world/link.ts'
import type { SimProcess } from '../world/process.ts'
import type { Failure } from './judge.ts'

/** Who asks hears within two seconds that the store is away, after each request; timers are a little late. */
const UNAVAILABLE_WITHIN = 2_300_000
/** The same, at the least; timers are a little early. */
const UNAVAILABLE_AFTER = 1_890_000
/** To connect and to open, a shaper goes there and back so often, the question that waits for it included. */
const OPENING = 18
/** A script that Redis has not is called twice; and the first shard is asked before the others. */
const [WITHOUT_SCRIPTS, OTHER_SHARDS] = [4, 4]
/** Errors that a shaper may report while something is wrong. */
const EXPECTED = ['backend-unavailable', 'lease-lost', 'started-late', 'old-rule-book', 'worker-lost']

/** What is known of the errors of a run. */
export interface Errant {
  readonly plan: Plan
  readonly world: {
    readonly now: number
    readonly processes: readonly Pick<SimProcess, 'name' | 'uncaught'>[]
  }
  readonly record: {
    readonly errors: readonly { readonly process: Opened; readonly at: number; readonly error: Error }[]
    readonly unavailable: readonly {
      readonly process: Opened
      readonly at: number
      readonly took: number
      readonly requests: number
    }[]
  }
  readonly silences: readonly Silence[]
  readonly struck: readonly Pick<Struck, 'from'>[]
}

type Opened = Pick<SimProcess, 'name' | 'bornAt'>

/**
 * Until something goes wrong no error is reported, and no call fails. Where the ways are so long that a shaper takes
 * more than two seconds to open, calls that wait for that fail.
 */
export function judgeErrors({ plan, world, record, silences, struck }: Errant): Failure[] {
  const failures: Failure[] = []
  for (const process of world.processes) {
    for (const error of process.uncaught) {
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
      failures.push({ law: 'errors', at: world.now, message: `${process.name}: nothing caught ${text}` })
    }
  }
  // A handler may end its own process.
  const calmUntil = Math.min(
    ...[...struck, ...silences.filter(({ isDeath }) => isDeath)].map(({ from }) => from),
  )
  for (const { process, at, error } of record.errors) {
    const isOpening =
      opensLate(plan, process, at - UNAVAILABLE_WITHIN) && isVelvetRopeError(error, 'backend-unavailable')
    const isExpected =
      isOpening || (at >= calmUntil && EXPECTED.some((code) => isVelvetRopeError(error, code)))
    if (!isExpected) failures.push({ law: 'errors', at, message: `${process.name}: ${error.stack}` })
  }
  for (const { process, at, took, requests } of record.unavailable) {
    const mayFail = at + took >= calmUntil || opensLate(plan, process, at)
    const waited = took - stoodStill(silences, process.name, at, at + took)
    if (mayFail && waited <= requests * timesAsked(plan) * UNAVAILABLE_WITHIN) continue
    const message = `${process.name}: a call failed after ${took / 1_000} ms because Redis was away`
    failures.push({ law: 'L8', at, message })
  }
  return failures
}

/** A script that Redis may not have, or not any more, is called twice, one call after the other. */
function timesAsked({ hasScripts, faults }: Plan): number {
  const mayForget = faults.some(({ kind }) => kind === 'flush-scripts' || kind === 'restart')
  return hasScripts !== true || mayForget ? 2 : 1
}

/** Whether a process may have been opening at that time, and opening takes longer there than calls wait. */
function opensLate({ network, shards, hasScripts }: Plan, { bornAt }: Opened, at: number): boolean {
  const times = OPENING + (hasScripts === true ? 0 : WITHOUT_SCRIPTS) + (shards > 1 ? OTHER_SHARDS : 0)
  const opening = times * (usualWay(network.there) + usualWay(network.back))
  return opening >= UNAVAILABLE_AFTER && at <= bornAt + opening
}

/** Of many ways one after the other, how long each takes, well counted; microseconds. */
function usualWay({ least, jitter, spikes, spike }: Delays): number {
  return least + 2 * jitter + spikes * spike
}

/** For how long a process did not turn its event loop, in that time; microseconds. */
export function stoodStill(silences: readonly Silence[], name: string, from: number, until: number): number {
  let still = 0
  let last = from
  for (const silence of silences.toSorted((a, b) => a.from - b.from)) {
    if (silence.process !== name || silence.cause !== 'itself') continue
    const end = Math.min(until, silence.until)
    still += Math.max(0, end - Math.max(last, silence.from))
    last = Math.max(last, end)
  }
  return still
}
