import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { EMPTY, fill, type MeterState } from '../../src/core/meter.ts'
import type { MeterStore } from '../../src/meter/meter-store.ts'
import { waitForEachAnswer } from '../support/patience.ts'
import { openPgliteMeterStore, openPostgresMeterStore } from '../support/postgres-meter-drivers.ts'

const EPOCH = 1_790_000_000_000_000

/** Units and times with all their digits, as well as the round ones at which comparisons turn. */
const units = fc.oneof(
  fc.constantFrom(0, 1, 0.1, 1e-9, 1e9, 5e-324, Number.MAX_VALUE),
  fc.double({ min: 0, max: 12, noNaN: true }),
)
const step = fc.oneof(
  fc.constantFrom(0, 1, 0.25, -1, -60_000_000, -60_000_001, -3_600_000_000, 3_600_000_000),
  fc.double({ min: -1e5, max: 1e6, noNaN: true }),
)
const request = fc.record({
  amount: units,
  capacity: fc.constantFrom(1, 3, 10, 1e9),
  interval: fc.constantFrom(1e6 / 3, 100, 86_400e6, 1e-3),
  clamp: fc.boolean(),
  block: fc.constantFrom(0, 0, 500_000.5, 3_600_000_000),
})

describe.each([
  ['postgres', openPostgresMeterStore, 60],
  ['pglite', openPgliteMeterStore, 60],
] as const)('a trace of fills on %s', (_, open, traces) => {
  waitForEachAnswer()

  test('leaves, to the last bit, what the algorithm of the core leaves', async () => {
    const store: MeterStore = await open()
    let key = 0
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(request, step), { minLength: 1, maxLength: 25 }),
        fc.constantFrom(1, EPOCH, EPOCH + 0.75),
        async (trace, start) => {
          const id = { name: 'traces', key: `${key++}` }
          let [state, now]: [MeterState, number] = [EMPTY, start]
          for (const [asked, later] of trace) {
            now = Math.max(1, now + later)
            const expected = fill(state, asked, now)
            const came = await store.fill({ ...id, ...asked }, now)
            expect(came).toEqual({ ...expected, now })
            expect(await store.read(id, now)).toEqual({ state: expected.state, now })
            state = expected.state
          }
        },
      ),
      { numRuns: traces },
    )
  })
})
