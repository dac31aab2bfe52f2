import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Shaper } from '../../src/index.ts'
import { VirtualClock } from '../../src/testing.ts'

const MS = 1_000
const LIMITS = [
  '400, 200/s, 30/second',
  '400, 100/s, 20 per 3 seconds, 60 tokens per 5 seconds 3 each',
  '400, 50/s, 3 at once',
  '400, 100/s, 7/second, 2 at once, tolerance 0',
  '400, 40/s, 300 tokens per 10 seconds 5 each, 2000 per hour in Europe/Berlin',
]
const counted = { cost: fc.integer({ min: 1, max: 3 }), tokens: fc.option(fc.integer({ min: 1, max: 20 })) }
const scenario = fc.record({
  limit: fc.constantFrom(...LIMITS),
  // Beyond 200 jobs, a verdict does not follow them one by one.
  line: fc.oneof(
    { weight: 4, arbitrary: fc.array(fc.record(counted), { maxLength: 30 }) },
    { weight: 1, arbitrary: fc.array(fc.record(counted), { minLength: 190, maxLength: 230, size: 'max' }) },
  ),
  asked: fc.record(counted),
  afterMs: fc.nat(4_000),
  takesMs: fc.constantFrom(0, 0, 5, 400),
  /** Each so many-th attempt fails at first; 0: none. */
  failing: fc.constantFrom(0, 0, 3, 7),
  /** What each start settles for; null: for what it said. */
  settles: fc.constantFrom(null, null, 0, 2),
})
type Scenario = typeof scenario extends fc.Arbitrary<infer Value> ? Value : never

/** Asks in the middle of a line; returns the answer, and how long the job waited in the end. */
async function ask(
  { limit, line, asked, afterMs, takesMs, failing, settles }: Scenario,
  deadlineMs?: number,
) {
  const clock = new VirtualClock()
  const shaper = new Shaper('late', {
    limits: { '*': limit },
    clock,
    jobDefaults: { attempts: 2, backoff: 700 },
  })
  const departed = new Map<string, number>()
  shaper.on('departed', ({ id, at }) => void departed.set(id, departed.get(id) ?? at))
  let calls = 0
  shaper.work(async (job) => {
    await clock.sleep(takesMs * MS)
    if (settles !== null && limit.includes('tokens')) await job.settle({ tokens: settles })
    if (failing > 0 && job.attempt === 1 && ++calls % failing === 0) throw new Error('no')
  })
  const options = ({ cost, tokens }: Scenario['asked']) => ({ cost, ...(tokens && { costs: { tokens } }) })
  await shaper.enqueueMany(line.map((job) => ({ key: 'k', data: 0, ...options(job) })))
  await clock.advance(afterMs * MS)
  const from = clock.now() / MS
  const answer = await shaper.enqueue('k', 0, { ...options(asked), ...(deadlineMs && { deadlineMs }) })
  await clock.advance(7_200_000 * MS)
  const at = answer.accepted ? departed.get(answer.id) : undefined
  expect(await shaper.audit()).toMatchObject({ waiting: 0, retrying: 0, running: 0 })
  await shaper.close()
  return { answer, waitedMs: at === undefined ? undefined : at - from }
}

test('what would depart in time is never refused as late, however much of its time is an estimate', async () => {
  await fc.assert(
    fc.asyncProperty(scenario, async (drawn) => {
      const { answer, waitedMs } = await ask(drawn)
      if (!answer.accepted) return
      expect(waitedMs).toBeDefined()
      const inTime = Math.ceil(waitedMs! + 0.001)
      expect((await ask(drawn, inTime)).answer).toMatchObject({ accepted: true })
    }),
    { numRuns: 150 },
  )
})
