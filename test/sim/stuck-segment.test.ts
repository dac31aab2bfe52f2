import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, inject, test } from 'vitest'

const SEEDS = 6
/** Of the time from the enqueueing to the start, in virtual time. */
const MOST_P90_MS = 200
const MOST_MAX_MS = 1_000

interface Figures {
  readonly p90: number
  readonly max: number
  readonly errors: number
}

test.each([2, 4])(
  'beside a segment whose handlers do not end, nine of ten jobs of another start within 200 ms, with %i workers',
  async (workers) => {
    const path = join(inject('builtFolder'), 'test/sim/cases/stuck-segment.js')
    for (let seed = 1; seed <= SEEDS; seed++) {
      const args = [path, 'stuck', String(seed), String(workers), '100']
      const { stdout } = await promisify(execFile)(process.execPath, args)
      const { p90, max, errors } = JSON.parse(stdout) as Figures
      expect(errors).toBe(0)
      expect(p90, `seed ${seed}`).toBeLessThan(MOST_P90_MS)
      expect(max, `seed ${seed}`).toBeLessThan(MOST_MAX_MS)
    }
  },
)
