import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseLimit } from '../../src/core/limit.ts'
import { Shaper } from '../../src/index.ts'
import { checkHistory, type HistoryEvent, recordHistory } from '../../src/testing.ts'
import { JumpyClock } from '../support/jumpy-clock.ts'

const LIMITS = [
  '99, 10/s',
  '99, 200/s',
  '99, 200/s, tolerance 0',
  '99, 20/s, tolerance 0',
  '99, 50/s, tolerance 1ms',
]
const WARM_UPS = ['99, 70/s, warm-up 1s', '99, 70/s, warm-up 1s, tolerance 0']
const JOBS = 40

/** Mostly nothing, now and then a collection, a compilation, or another process. */
const jump = fc.oneof(
  { weight: 6, arbitrary: fc.constant(0) },
  { weight: 3, arbitrary: fc.integer({ min: 1, max: 400 }) },
  { weight: 2, arbitrary: fc.integer({ min: 400, max: 8_000 }) },
  { weight: 1, arbitrary: fc.integer({ min: 8_000, max: 200_000 }) },
)
/** At least one of sixteen calls meets nothing: if all were long, that would be what the handler itself computes. */
const QUIET: readonly number[] = Array.from({ length: 14 }, () => 0)
const jumps = fc
  .array(jump, { minLength: 1, maxLength: 45, size: 'max' })
  .map((jumps) => [...jumps, ...QUIET])

const spacingBreaches = (history: readonly HistoryEvent[]) =>
  checkHistory(history, { unfinished: true }).filter(({ law }) => law === 'L2')

test('handlers keep their distance by clocks read in them, whatever comes before their first statement', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...LIMITS, ...WARM_UPS),
      jumps,
      fc.boolean(),
      async (limit, jumps, isAsync) => {
        const clock = new JumpyClock(jumps)
        const shaper = new Shaper('jumpy', { limits: { '*': limit }, clock })
        const { history, timed } = recordHistory(shaper, clock)
        let started = 0
        shaper.work(isAsync ? timed(async () => void started++) : timed(() => void started++))
        await shaper.enqueueMany(Array.from({ length: JOBS }, (_, data) => ({ key: 'k', data })))
        await clock.passUntil(() => started === JOBS)
        await shaper.close()
        expect(history.filter((event) => event.type === 'start' && event.readAt !== undefined)).toHaveLength(
          JOBS,
        )
        expect(spacingBreaches(history)).toEqual([])
      },
    ),
    { numRuns: 300 },
  )
})

test('so do callers that wait for their turns', async () => {
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...LIMITS), jumps, async (limit, jumps) => {
      const clock = new JumpyClock(jumps)
      const shaper = new Shaper('jumpy', { limits: { '*': limit }, clock })
      const history: HistoryEvent[] = [{ type: 'limit', at: 0, key: 'k', limit: parseLimit(limit) }]
      let gone = 0
      for (let caller = 0; caller < JOBS; caller++) {
        void shaper.acquire('k').then(() => {
          const at = clock.now()
          history.push({ type: 'start', at, id: `${caller}`, key: 'k', cost: 1, attempt: 1 })
          gone++
        })
      }
      await clock.passUntil(() => gone === JOBS)
      await shaper.close()
      expect(spacingBreaches(history)).toEqual([])
    }),
    { numRuns: 200 },
  )
})

test('a key keeps its spacing beside one whose handlers compute for long', async () => {
  const clock = new JumpyClock([0])
  const shaper = new Shaper('two', { limits: { busy: '99, 10/s', calm: '99, 20/s' }, clock })
  const starts: number[] = []
  let computed = 0
  shaper.work(({ key, data }) => {
    if (key === 'busy') {
      clock.jump(30_000)
      computed++
      return
    }
    // A collection, before the first statement of the first.
    if (data === 0) clock.jump(20_000)
    starts.push(clock.now())
  })
  await shaper.enqueueMany(Array.from({ length: 20 }, (_, data) => ({ key: 'busy', data })))
  await clock.passUntil(() => computed === 20)
  await shaper.enqueueMany(Array.from({ length: 2 }, (_, data) => ({ key: 'calm', data })))
  await clock.passUntil(() => starts.length === 2)
  await shaper.close()
  expect(starts[1]! - starts[0]!).toBeGreaterThanOrEqual(45_000)
})

test('callers keep their distance from jobs although listeners compute before they go on', async () => {
  const clock = new JumpyClock([0])
  const limit = '99, 20/s'
  const shaper = new Shaper('listened', { limits: { '*': limit }, clock })
  const history: HistoryEvent[] = [{ type: 'limit', at: 0, key: 'k', limit: parseLimit(limit) }]
  const read = () => {
    const at = clock.now()
    history.push({ type: 'start', at, id: `${history.length}`, key: 'k', cost: 1, attempt: 1 })
  }
  shaper.on('departed', () => clock.jump(20_000))
  shaper.work(read)
  for (let n = 0; n < JOBS; n++) {
    void shaper.acquire('k').then(read)
    await shaper.enqueue('k', n)
  }
  await clock.passUntil(() => history.length === 1 + 2 * JOBS)
  await shaper.close()
  expect(spacingBreaches(history)).toEqual([])
})

test('a handler that computes for longer than the tolerance, each time, keeps the rate', async () => {
  // Five looks for each start, and the handler's own time after the last but one.
  const clock = new JumpyClock([0])
  const shaper = new Shaper('computing', { limits: { '*': '999, 10/s' }, clock })
  const starts: number[] = []
  shaper.work(() => {
    starts.push(clock.now())
    clock.jump(20_000)
  })
  await shaper.enqueueMany(Array.from({ length: 100 }, (_, data) => ({ key: 'k', data })))
  await clock.passUntil(() => starts.length === 100)
  await shaper.close()
  const late = starts.at(-1)! - starts[20]! - 79 * 100_000
  expect(late).toBeLessThan(1_000)
})
