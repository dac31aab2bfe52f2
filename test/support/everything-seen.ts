import { expect } from 'vitest'
import type { BucketView } from '../../src/core/bucket-view.ts'
import { isEnded, type JobView } from '../../src/core/job.ts'
import { hasParts, parseLimit } from '../../src/core/limit.ts'
import type { LineView } from '../../src/core/line-view.ts'
import type { JobFacts } from '../../src/line/job-facts.ts'
import type { Driver } from './backend-driver.ts'
import { isTurnId } from './turn-id.ts'

const ALL = 200

/** Everything that can be seen through one driver, in the same words for all; what must agree is held to it. */
export async function everythingSeen(
  driver: Driver,
  keys: readonly string[],
  ids: readonly string[],
  now: number,
) {
  const [page, audit, flow, lines, jobs, facts] = await Promise.all([
    driver.list({ sort: 'key' }, now),
    driver.audit(),
    driver.flow(now),
    Promise.all(keys.map((key) => driver.line(key, ALL, now))),
    Promise.all(ids.map((id) => viewOf(driver, id, now))),
    Promise.all(ids.map((id) => driver.facts(id, now))),
  ])
  expect(flow).toMatchObject({ admitted: audit.admitted, ended: audit.ended })
  for (const line of lines) expectTotal(line, page.buckets)
  for (const [index, job] of jobs.entries()) {
    if (job !== undefined) expectAgreement(job, facts[index]!, lines, page.buckets)
  }
  const known = facts.filter((fact, index) => fact !== undefined && jobs[index] !== undefined)
  return [
    page.buckets.map(withoutDurability),
    page.total,
    audit,
    flow,
    lines,
    jobs,
    known.map((fact) => comparable(fact, now)),
  ]
}

function expectTotal(line: LineView | undefined, buckets: readonly BucketView[]): void {
  if (line === undefined) return
  const bucket = buckets.find(({ key }) => key === line.key)!
  expect(line.total).toBe(bucket.jobs + bucket.retrying)
  expect(line.jobs).toHaveLength(line.total)
}

function expectAgreement(
  job: JobView,
  facts: JobFacts,
  lines: readonly (LineView | undefined)[],
  buckets: readonly BucketView[],
): void {
  const { id, key, state } = job
  expect(facts).toMatchObject({ id, key, state, attempt: job.attempt })
  expect(facts.wait?.position).toBe(job.position)
  if (facts.wait === undefined) return
  const { ahead, departsAt, frozenUntil, paused } = facts.wait
  const jobs = lines.find((line) => line?.key === key)!.jobs
  const before = jobs.slice(
    0,
    jobs.findIndex((job) => job.id === id),
  )
  expect(ahead).toEqual({
    jobs: before.length,
    cost: before.reduce((units, { cost }) => units + cost, 0),
    ids: before.slice(0, 10).map((waiting) => waiting.id),
  })
  const bucket = buckets.find((view) => view.key === key)!
  expect([paused, frozenUntil > facts.now]).toEqual([bucket.paused, bucket.frozenUntil !== undefined])
  // Explanations count with the pace alone.
  const isByPace = !hasParts(parseLimit(bucket.limit))
  const isHead = isByPace && before.length === 0 && bucket.nextDepartureAt !== undefined
  if (isHead) expect(departsAt / 1_000).toBeCloseTo(bucket.nextDepartureAt, 2)
}

/**
 * In memory no job is handed over without having started, and only an engine knows which workers take jobs; and since when
 * the head of a bucket without departures could have gone is reported by each in its way.
 * A time that has passed holds nothing back, whether it is remembered or not.
 */
function comparable(facts: JobFacts | undefined, now: number) {
  if (facts?.wait === undefined) return facts
  const { stall: _, handed: __, head, next, frozenUntil, ...wait } = facts.wait
  const times = { next: Math.max(next, now), frozenUntil: Math.max(frozenUntil, now) }
  return { ...facts, wait: { ...wait, ...times, head: head.isTurn } }
}

/** A turn that has ended may be known still, or not. */
async function viewOf(driver: Driver, id: string, now: number) {
  const view = await driver.job(id, now)
  return view !== undefined && isTurnId(id) && isEnded(view.state) ? undefined : view
}

function withoutDurability({ durability: _, ...view }: BucketView) {
  return view
}
