import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { built } from '../../support/built.ts'

test('the oracle asks the store little while it is known that jobs have not ended', () => {
  const text = execFileSync(process.execPath, [built('test/sim/cases/oracle-writes.ts')], {
    encoding: 'utf8',
  })
  const { writes, ends, seconds, failures } = JSON.parse(text)
  expect(failures).toEqual([])
  expect(ends).toBe(8)
  expect(seconds).toBeGreaterThan(7)
  expect(writes).toBeLessThan(60)
})
