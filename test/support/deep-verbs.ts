import type { Redis } from 'ioredis'
import { SECOND } from '../../src/core/duration.ts'
import { parseRule } from '../../src/core/rule-book.ts'
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
/** The lines are filled at 0. */
let clock = 10
const tick = () => (clock += 0.1)

/** One deep line of key `a`, and one of key `b` whose jobs expire from its middle on. */
export interface DeepLines {
  readonly stage: RedisStage
  readonly length: number
  readonly other: number
}

/** On a server of the caller's own. */
export async function openDeepLines(
  url: string,
  client: Redis,
  length: number,
  other: number,
): Promise<DeepLines> {
  const options = { connection: connect(url), client, keepFinished: 100 }
  const stage = await RedisStage.open(`${CAPACITY}, 1000/s`, options)
  for (const key of ['a', 'b'])
    await stage.backend.verbs.admit({ ...request(key, { key }), deadline: NEVER }, at(0))
  await deepen(stage.redis, stage.tag, { key: 'a', like: 'a', prefix: 'a', count: length, now: at(0) })
  const half = { key: 'b', like: 'b', count: other / 2, now: at(0) }
  await deepen(stage.redis, stage.tag, { ...half, prefix: 'b' })
  await deepen(stage.redis, stage.tag, { ...half, prefix: 'late', deadline: LATE * SECOND })
  return { stage, length, other }
}

type Verb = (lines: DeepLines) => Promise<unknown>

let made = 0
/** Another job each time, about at that part of the line. */
const deep = ({ length }: DeepLines, part: number) => `a${Math.floor(part * (length - 1_000)) + made++}`

async function granted({ stage }: DeepLines): Promise<HandedJob> {
  const { jobs } = await stage.claim(tick(), { lease: LEASE })
  const { id, epoch } = jobs.find(({ key }) => key === 'a')!
  await stage.gate({ id, epoch }, clock)
  return { id, epoch }
}

/** Each as it is called when the lines are deep, any number of times. What a verb needs first, it asks for itself. */
export const DEEP_VERBS: Readonly<Record<string, Verb>> = {
  'admit a job': ({ stage }) => stage.admit(`new${made++}`, clock),
  'admit 200 jobs': ({ stage }) => {
    const asked = Array.from({ length: 200 }, () => ({ ...request(`new${made++}`), deadline: NEVER }))
    return stage.backend.verbs.admitMany(asked, at(clock))
  },
  'refuse a job': ({ stage, length }) => stage.admit(`new${made++}`, clock, { cost: CAPACITY - length / 2 }),
  'forecast a refusal': ({ stage, length }) =>
    stage.backend.verbs.forecast('a', CAPACITY - length / 2, at(clock)),
  'cancel in the middle': (lines) => lines.stage.backend.verbs.cancel(deep(lines, 0.5), at(clock)),
  'cancel at the end': (lines) => lines.stage.backend.verbs.cancel(deep(lines, 1), at(clock)),
  'look at a job in the middle': (lines) => lines.stage.views.job(deep(lines, 0.5), at(clock)),
  'look at a job at the end': (lines) => lines.stage.views.job(deep(lines, 1), at(clock)),
  'explain a job at the end': (lines) => lines.stage.views.facts(deep(lines, 1), at(clock)),
  'show the first of the line': ({ stage }) => stage.views.line('a', 200, at(clock)),
  'show what happened': ({ stage }) => stage.views.recent('a', at(clock)),
  inspect: ({ stage }) => stage.inspect('a', clock),
  list: ({ stage }) => stage.list(clock),
  audit: ({ stage }) => stage.views.audit(),
  freeze: ({ stage }) => stage.backend.verbs.freeze('a', 1, at(clock)),
  pause: ({ stage }) => stage.backend.verbs.pause('b', at(clock)),
  resume: ({ stage }) => stage.backend.verbs.resume('b', at(clock)),
  'start and complete': async (lines) => {
    const job = await granted(lines)
    await lines.stage.start(job, clock)
    await lines.stage.renew(job, LEASE / SECOND, clock)
    await lines.stage.finish(job, COMPLETED, clock)
  },
  'start and come back frozen': async (lines) => {
    await lines.stage.finish(await granted(lines), { kind: 'freeze', duration: 1 }, clock, clock)
  },
  'come back without a start': async ({ stage }) => {
    const [job] = await stage.hand(tick(), 200)
    await stage.finish(job!, BACK, clock)
  },
  'come back from a worker that died': async ({ stage }) => {
    await stage.claim(tick(), { lookAhead: 0.2 * SECOND, lease: SECOND })
    for (let n = 0; n < 15; n++) await stage.recover(tick())
  },
  'start, fail and be tried again': async (lines) => {
    await lines.stage.finish(await granted(lines), { kind: 'retry', error: 'no', delay: 0 }, clock, clock)
  },
  'refuse a job with a retry in the line': ({ stage, length }) =>
    stage.admit(`new${made++}`, clock, { cost: CAPACITY - length / 2 }),
  'explain a job with a retry in the line': (lines) => lines.stage.views.facts(deep(lines, 1), at(clock)),
  'look at a job with a retry in the line': (lines) => lines.stage.views.job(deep(lines, 0.5), at(clock)),
  'change the rules': ({ stage }) => {
    const rule = parseRule('*', `${CAPACITY}, ${900 + (made++ % 7)}/s`)
    return stage.backend.rules.change({ kind: 'set', rule }, at(clock))
  },
  quarantine: ({ stage }) => stage.backend.verbs.quarantine(0, at(clock)),
  'expire many in the middle': ({ stage }) => stage.backend.verbs.expire(0, at(LATE + 1)),
}
