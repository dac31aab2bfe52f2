import { expect, test } from 'vitest'
import { aJob, aPlan } from '../judge/planted.ts'
import { Random } from '../world/random.ts'
import { busySpans, momentIn } from './busy.ts'
import { drawPlan } from './draw.ts'
import { strikesBy } from './fault.ts'

const SEEDS = Array.from({ length: 200 }, (_, index) => index + 1)

test('work lasts from the first request to the last end, at the rate of the line', () => {
  const jobs = ['a', 'b', 'c'].map((id) => aJob(id))
  const [span, ...others] = busySpans(aPlan({ jobs }))
  expect(others).toEqual([])
  expect(span!.from).toBe(0)
  expect(span!.until).toBeGreaterThan(2_000)
  expect(span!.until).toBeLessThan(2_100)
})

test('a time without any job lies in no span', () => {
  const jobs = [aJob('a'), { ...aJob('b'), at: 5_000, handler: { ...aJob('b').handler, takes: 300 } }]
  const spans = busySpans(aPlan({ jobs }))
  expect(spans).toHaveLength(2)
  expect(spans[0]!.until).toBeLessThan(100)
  expect(spans[1]).toMatchObject({ from: 5_000 })
  expect(spans[1]!.until).toBeGreaterThan(5_300)
})

test('a job that is refused or expires takes no slot', () => {
  const keys = [{ key: 'k', capacity: 1, rate: { count: 1, per: 1_000 } }]
  const full = [aJob('a'), { ...aJob('b'), at: 1 }, { ...aJob('c'), at: 2 }]
  expect(busySpans(aPlan({ keys, jobs: full })).at(-1)!.until).toBeLessThan(100)
  const late = [aJob('a'), { ...aJob('b'), deadline: 500 }, { ...aJob('c'), deadline: 500 }]
  expect(busySpans(aPlan({ jobs: late })).at(-1)!.until).toBe(500)
})

test('each moment of work is drawn as often as any other', () => {
  const random = new Random(1)
  const spans = [
    { from: 0, until: 100 },
    { from: 1_000, until: 1_300 },
  ]
  const drawn = Array.from({ length: 2_000 }, () => momentIn(random, spans))
  expect(
    drawn.every(({ at, until }) => spans.some((one) => one.from <= at && at < until && until === one.until)),
  ).toBe(true)
  const early = drawn.filter(({ at }) => at < 100).length
  expect(early).toBeGreaterThan(400)
  expect(early).toBeLessThan(600)
})

test('faults of a seed strike while its work lasts', () => {
  const drawn = SEEDS.map((seed) => drawPlan(seed)).filter(({ keepFinished }) => keepFinished > 3)
  for (const plan of drawn) {
    const spans = busySpans(plan)
    for (const fault of plan.faults) {
      // It comes when a restart is over.
      if (fault.kind === 'refusal') continue
      const when = 'when' in fault ? fault.when : { at: fault.at }
      const isMet = spans.some(({ from, until }) => from <= when.at && strikesBy(when) <= until)
      expect(isMet, `seed ${plan.seed}: ${JSON.stringify(fault)}`).toBe(true)
    }
  }
  expect(drawn.length).toBeGreaterThan(150)
})
