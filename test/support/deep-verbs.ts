import type { Redis } from 'ioredis'
import { SECOND } from '../../src/core/duration.ts'
import { parseRule } from '../../src/core/rule-book.ts'
import type { Costs } from '../../src/core/usage.ts'
import type { HandedJob } from '../../src/redis/verbs/handed-job.ts'
import { BACK, COMPLETED, RedisStage } from '../conformance/redis-stage.ts'
import { at, request } from './backend-driver.ts'
import { deepen } from './deep-line.ts'
import { connect } from './redis-driver.ts'

const NEVER = Number.POSITIVE_INFINITY
const CAPACITY = 100_000_000
const LEASE = 60 * SECOND
/** Seconds after noon, when half of the other line expires. */
const LATE = 10_000

/** One deep line of key `a`, and one of key `b` whose jobs expire from its middle on. */
export interface DeepLines {
  readonly stage: RedisStage
  readonly length: number
  readonly other: number
  /** The further parts of the limit of both, behind a comma. */
  readonly parts: string
  /** Seconds. The lines are filled at 0. */
  clock: number
  /** Jobs that verbs have made so far. */
  made: number
  /** Jobs of the line that verbs have chosen so far: each takes another. */
  chosen: number
}

export interface DeepOptions {
  /** Of each job that waits; JSON. Default: `1`. */
  readonly data?: string
  /** How many rules there are besides that of the lines. Default: 0. */
  readonly rules?: number
  /** Limits of families. Default: none. */
  readonly totals?: Readonly<Record<string, string>>
  /** Further parts of the limit of both lines: `, 9/s`. Default: none. */
  readonly parts?: string
  /** What each job of the first line names. */
  readonly costs?: Costs
}

/** On a server of the caller's own. */
export async function openDeepLines(
  url: string,
  client: Redis,
  length: number,
  other: number,
  { data = '1', rules = 0, parts = '', totals = {}, costs }: DeepOptions = {},
): Promise<DeepLines> {
  const options = { connection: connect(url), client, keepFinished: 100 }
  const others = Array.from({ length: rules }, (_, n) => [`other/${n}`, `${n + 1}, 5/s`] as const)
  const limits = { '*': `${CAPACITY}, 1000/s${parts}`, ...totals, ...Object.fromEntries(others) }
  const stage = await RedisStage.open(limits, options)
  for (const key of ['a', 'b'])
    await stage.backend.verbs.admit({ ...request(key, { key, data, costs }), deadline: NEVER }, at(0))
  await deepen(stage.redis, stage.tag, { key: 'a', like: 'a', prefix: 'a', count: length, now: at(0) })
  // Where all jobs cost 1, a refusal need not look at them.
  await stage.backend.verbs.admit(
    { ...request('costly', { key: 'a', data, cost: 2 }), deadline: NEVER },
    at(0),
  )
  const half = { key: 'b', like: 'b', count: other / 2, now: at(0) }
  await deepen(stage.redis, stage.tag, { ...half, prefix: 'b' })
  await deepen(stage.redis, stage.tag, { ...half, prefix: 'late', deadline: LATE * SECOND })
  return { stage, length, other, parts, clock: 10, made: 0, chosen: 0 }
}

type Verb = (lines: DeepLines) => Promise<unknown>

const tick = (lines: DeepLines) => (lines.clock += 0.1)
const another = (lines: DeepLines) => `new${lines.made++}`

/** Another job each time, about at that part of the line: a thousand times. */
const deep = (lines: DeepLines, part: number) =>
  `a${Math.floor(part * (lines.length - 1_000)) + lines.chosen++}`

/** A verb that does not find its job does little in a line of any length. */
function expectFound(id: string, found: unknown): void {
  if (found === undefined) throw new Error(`expected job ${id} to stand in the line`)
}

async function cancel(lines: DeepLines, part: number) {
  const id = deep(lines, part)
  expectFound(id, await lines.stage.backend.verbs.cancel(id, at(lines.clock)))
}

async function explain(lines: DeepLines, part: number) {
  const id = deep(lines, part)
  expectFound(id, await lines.stage.views.facts(id, at(lines.clock)))
}

async function look(lines: DeepLines, part: number) {
  const id = deep(lines, part)
  const seen = await lines.stage.views.job(id, at(lines.clock))
  if (seen?.state !== 'waiting') throw new Error(`expected job ${id} to wait, got: ${JSON.stringify(seen)}`)
}

async function granted(lines: DeepLines): Promise<HandedJob> {
  const { jobs } = await lines.stage.claim(tick(lines), { lease: LEASE })
  const { id, epoch } = jobs.find(({ key }) => key === 'a')!
  const answer = await lines.stage.gate({ id, epoch }, lines.clock)
  // Large data are fetched before a slot is reserved.
  if (answer.kind === 'data') {
    await lines.stage.backend.verbs.fetch(0, [{ id, epoch }])
    await lines.stage.gate({ id, epoch }, lines.clock, { hasData: true })
  }
  return { id, epoch }
}

/** Each as it is called when the lines are deep, any number of times. What a verb needs first, it asks for itself. */
export const DEEP_VERBS: Readonly<Record<string, Verb>> = {
  'admit a job': (lines) => lines.stage.admit(another(lines), lines.clock),
  'admit 200 jobs': (lines) => {
    const asked = Array.from({ length: 200 }, () => ({ ...request(another(lines)), deadline: NEVER }))
    return lines.stage.backend.verbs.admitMany(asked, at(lines.clock))
  },
  'refuse a job': (lines) =>
    lines.stage.admit(another(lines), lines.clock, { cost: CAPACITY - lines.length / 2 }),
  'forecast a refusal': (lines) =>
    lines.stage.backend.verbs.forecast('a', CAPACITY - lines.length / 2, at(lines.clock)),
  'cancel in the middle': (lines) => cancel(lines, 0.5),
  'cancel at the end': (lines) => cancel(lines, 1),
  'look at a job in the middle': (lines) => look(lines, 0.5),
  'look at a job at the end': (lines) => look(lines, 1),
  'explain a job at the end': (lines) => explain(lines, 1),
  'show the first of the line': (lines) => lines.stage.views.line('a', 200, at(lines.clock)),
  'show what happened': (lines) => lines.stage.views.recent('a', at(lines.clock)),
  inspect: (lines) => lines.stage.inspect('a', lines.clock),
  list: (lines) => lines.stage.list(lines.clock),
  audit: (lines) => lines.stage.views.audit(),
  freeze: (lines) => lines.stage.backend.verbs.freeze('a', 1, at(lines.clock)),
  pause: (lines) => lines.stage.backend.verbs.pause('b', at(lines.clock)),
  resume: (lines) => lines.stage.backend.verbs.resume('b', at(lines.clock)),
  'start and complete': async (lines) => {
    const job = await granted(lines)
    await lines.stage.start(job, lines.clock)
    await lines.stage.renew(job, LEASE / SECOND, lines.clock)
    // Its limit has no quota, so that there is nothing to settle.
    const attempt = { id: job.id, key: 'a', fence: 1, amounts: {} }
    await lines.stage.backend.verbs.settle(attempt, at(lines.clock))
    await lines.stage.finish(job, COMPLETED, lines.clock)
  },
  'start and come back frozen': async (lines) => {
    await lines.stage.finish(await granted(lines), { kind: 'freeze', duration: 1 }, lines.clock, lines.clock)
  },
  'come back without a start': async (lines) => {
    const [job] = await lines.stage.hand(tick(lines), 200)
    await lines.stage.finish(job!, BACK, lines.clock)
  },
  'come back from a worker that died': async (lines) => {
    await lines.stage.claim(tick(lines), { lookAhead: 0.2 * SECOND, lease: SECOND })
    for (let n = 0; n < 15; n++) await lines.stage.recover(tick(lines))
  },
  'start, fail and be tried again': async (lines) => {
    await lines.stage.finish(
      await granted(lines),
      { kind: 'retry', error: 'no', delay: 0 },
      lines.clock,
      lines.clock,
    )
  },
  'refuse a job with a retry in the line': (lines) =>
    lines.stage.admit(another(lines), lines.clock, { cost: CAPACITY - lines.length / 2 }),
  'explain a job with a retry in the line': (lines) => explain(lines, 1),
  'look at a job with a retry in the line': (lines) => look(lines, 0.5),
  'change the rules': (lines) => {
    const rule = parseRule('*', `${CAPACITY}, ${900 + (lines.made++ % 7)}/s${lines.parts}`)
    return lines.stage.backend.rules.change({ kind: 'set', rule }, at(lines.clock))
  },
  quarantine: (lines) => lines.stage.backend.verbs.quarantine(0, at(lines.clock)),
  'expire many in the middle': (lines) => lines.stage.backend.verbs.expire(0, at(LATE + 1)),
}
