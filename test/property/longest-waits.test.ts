import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Shaper } from '../../src/index.ts'
import { checkHistory, recordHistory, VirtualClock } from '../../src/testing.ts'

const MS = 1_000
const KEYS = ['a', 'a/u', 'a/v', 'a/x', 'a/x/1', 'a/x/2', 'a/x/p/1', 'a/x/p/2', 'a/y/1', 'a/y/2'] as const
const TOTALS = ['a/x/', 'a/*/', 'a/x/p/'] as const

const weighed = (...limits: readonly string[]) =>
  fc
    .tuple(fc.constantFrom(...limits), fc.constantFrom(0.25, 1, 1, 2, 7))
    .map(([limit, weight]) => `${limit}, weight ${weight}`)

const PACES = ['90, 2/s', '90, 20/s', '90, 200/s, tolerance 0']
const ofKey = weighed(...PACES, '90, 5/s, warm-up 3 s', '90, 20/s, 9/second', '90, 9/s, 1 at once')
const ofTotal = weighed('400, 5/s', '400, 20/s, tolerance 0', '400, 100/s', '400, 20/s, warm-up 9 s from 1/s')

const round = fc.record({
  lines: fc.array(
    fc.record({
      key: fc.constantFrom(...KEYS),
      costs: fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 6 }),
    }),
    { minLength: 1, maxLength: 5 },
  ),
  lastsMs: fc.nat(900),
})

test('a job below totals starts by the time that it is promised', async () => {
  let promises = 0
  await fc.assert(
    fc.asyncProperty(
      fc.dictionary(fc.constantFrom('*', ...KEYS), ofKey),
      fc.dictionary(fc.constantFrom(...TOTALS), ofTotal),
      ofTotal,
      fc.array(round, { minLength: 1, maxLength: 4 }),
      async (keys, totals, outermost, rounds) => {
        const clock = new VirtualClock()
        const limits = { '*': '90, 20/s', ...keys, ...totals, 'a/': outermost }
        const shaper = new Shaper<null>('waits', { limits, clock })
        const recording = recordHistory(shaper, clock)
        shaper.work(recording.timed(() => clock.sleep(30 * MS)))
        for (const { lines, lastsMs } of rounds) {
          const requests = lines.flatMap(({ key, costs }) => costs.map((cost) => ({ key, data: null, cost })))
          const answers = await shaper.enqueueMany(requests)
          await clock.advance(lastsMs * MS)
          for (const answer of answers) if (answer.accepted) await recording.promise(answer.id)
        }
        await clock.advance(3_600_000 * MS)
        promises += recording.history.filter(({ type }) => type === 'promise').length
        expect(checkHistory(recording.history)).toEqual([])
        await shaper.close()
      },
    ),
    { numRuns: 100 },
  )
  expect(promises).toBeGreaterThan(500)
})
