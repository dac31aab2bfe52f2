import type { Redis } from 'ioredis'
import { parseRule } from '../../../src/core/rule-book.ts'
import { RedisMeterStore } from '../../../src/meter/redis-meter-store.ts'
import type { HandedJob } from '../../../src/redis/verbs/handed-job.ts'
import { COMPLETED, RedisStage } from '../../conformance/redis-stage.ts'
import { at, SETTINGS, TURN_CALLER } from '../../support/backend-driver.ts'
import { connect } from '../../support/redis-driver.ts'

export const PREFIX = 'fuzz'
/** Seconds after the noon of the tests: when everything below has happened, and further calls are made. */
export const NOW = 10
const LIMITS = {
  '*': '9, 1/s',
  warm: '20, 10/s, warm-up 2s',
  good: '9, 5/s',
  fast: '9, 100/s',
  late: '9, 1/s',
  turns: '9, 5/s',
  sets: '20, 10/s, 5 per 8 seconds, 90 tokens/minute 10 each, 9 per day in Europe/Berlin, 2 at once',
  counted: '20, 10/s, 6 per 9 seconds, 900 tokens/hour 10 each',
  later: '20, 10/s, 6 per 9 seconds, 900 tokens/hour 10 each',
  places: '9, 10/s, 1 at once',
  'kin/': '30, 20/s, 50 per 8 seconds, 3 at once',
  'kin/x/': '20, 10/s',
}
const METER = { name: 'fuzz', key: 'caller/1' }

/** A shard with buckets, jobs and turns in every state, and a meter, on a server of the caller's own. */
export interface BusyShard {
  readonly stage: RedisStage
  readonly meter: RedisMeterStore
  /** Handed over; `granted` has a slot, `follows` is one of a run, and `running` runs. */
  readonly jobs: Readonly<
    Record<
      'handed' | 'granted' | 'running' | 'large' | 'follows' | 'inSet' | 'slotInSet' | 'counted',
      HandedJob
    >
  >
  close(): Promise<void>
}

export async function openBusyShard(url: string, client: Redis): Promise<BusyShard> {
  const options = { connection: connect(url), client, prefix: PREFIX, keepFinished: 2, openedAt: at(0) }
  const stage = await RedisStage.open(LIMITS, options)
  const meter = new RedisMeterStore({ ...METER, prefix: PREFIX, connection: url })
  const { verbs } = stage.backend
  const admit = (id: string, key: string, part: object = {}) =>
    stage.admit(id, 0, { key, settings: SETTINGS, ...part })
  await stage.views.recent('a', at(0))

  // One after the other through key a: ended, failed and waiting for a retry, given back, running.
  for (const id of ['ended', 'retry', 'frozen', 'running', 'waits', 'dear'])
    await admit(id, 'a', { cost: id === 'dear' ? 3 : 1 })
  await stage.finish(await stage.run(0), COMPLETED, 0.5)
  const retried = await stage.run(1)
  await stage.finish(retried, { kind: 'retry', error: 'as planned', delay: 60_000_000 }, 1.5)
  await stage.finish(await stage.run(2), { kind: 'freeze', duration: 1 }, 2.1)
  await stage.run(3.2)
  const running = await stage.run(4.3)
  const { inSet, slotInSet } = await fillSets(stage)
  // A job that was handed over alone, one with a slot, and one whose data are kept apart.
  await admit('granted1', 'granted')
  await admit('handed1', 'handed')
  await admit('large1', 'large', { data: `"${'x'.repeat(6_000)}"` })
  const handed = await stage.hand(5.1)
  const one = (id: string) => handed.find((job) => job.id === id)!
  await stage.gate(one('granted1'), 5.2)
  // Of a fast bucket one has a slot, two follow it, and one waits.
  for (const n of [1, 2, 3, 4]) await admit(`fast${n}`, 'fast')
  const [fast] = await stage.hand(5.2)
  await stage.gate(fast!, 5.2)
  const follows = (await stage.follow(fast!.epoch, 5.2, { key: 'fast', most: 2 })).jobs[0]!.handed
  // Turns: one waits at its gate, others in their line.
  for (const n of [1, 2]) await admit(`~${TURN_CALLER}~${n}`, 'turns', { isTurn: true })
  await stage.claim(5.2, { lookAhead: 200_000 })
  // Below totals, which nest.
  for (const key of ['kin/1', 'kin/2', 'kin/x/1', 'kin/x/2']) {
    for (const n of [1, 2]) await admit(`${key} ${n}`, key)
  }
  await verbs.freeze('kin/2', 3_600_000_000, at(5.2))
  for (const id of ['warm1', 'warm2']) await admit(id, 'warm')
  for (const id of ['good1', 'good2']) await admit(id, 'good')
  for (const index of [1, 2]) await admit(`later${index}`, 'later', { costs: { tokens: 7 * index } })
  await admit('late1', 'late', { deadline: at(1_000) })
  for (const key of ['paused', 'cold']) await admit(`${key}1`, key)
  await verbs.pause('paused', at(5.2))
  await verbs.freeze('cold', 3_600_000_000, at(5.2))
  await verbs.cancel('good2', at(5.2))
  await stage.backend.rules.change({ kind: 'set', rule: parseRule('late', '8, 1/s') }, at(5.2))
  await meter.fill({ ...METER, amount: 3, capacity: 9, interval: 1e6, clamp: false, block: 0 }, at(5.2))
  const jobs = {
    handed: one('handed1'),
    granted: one('granted1'),
    running,
    large: one('large1'),
    follows,
    inSet,
    slotInSet,
    counted: one('counted1'),
  }
  return { stage, meter, jobs, close: () => meter.close() }
}

/**
 * Buckets with quotas and places. Of `sets` one job has ended, one runs, one waits for a retry and one has a slot, so that no place
 * is free; of `counted` one runs, and others were handed over; of `later` others are due; of `places` one runs, and one waits for its place.
 */
async function fillSets(stage: RedisStage) {
  const admit = (id: string, key: string, part: object = {}) =>
    stage.admit(id, 4.35, { key, settings: SETTINGS, ...part })
  const tokens = [40, 5, undefined, 20, 60, undefined, 3]
  for (const [index, units] of tokens.entries())
    await admit(`set${index}`, 'sets', units === undefined ? {} : { costs: { tokens: units } })
  const ended = await stage.run(4.4)
  await stage.backend.verbs.settleRunning({ id: 'set0', key: 'sets', amounts: { tokens: 30 } }, at(4.42))
  await stage.finish(ended, COMPLETED, 4.45)
  const inSet = await stage.run(4.51)
  await stage.finish(
    await stage.run(4.62),
    { kind: 'retry', error: 'as planned', delay: 3_600_000_000 },
    4.65,
  )
  const [slotInSet] = await stage.hand(4.73)
  await stage.gate(slotInSet!, 4.73)
  for (const [index, units] of [50, 7, 1, 2].entries())
    await admit(`counted${index}`, 'counted', { costs: { tokens: units } })
  await stage.run(4.75)
  await admit('later0', 'later')
  await stage.run(4.755)
  for (const index of [0, 1]) await admit(`place${index}`, 'places')
  await stage.run(4.76)
  return { inSet, slotInSet: slotInSet! }
}

export { METER }
