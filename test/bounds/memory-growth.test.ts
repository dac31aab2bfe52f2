import { expect, test } from 'vitest'
import { runChild } from '../support/child.ts'
import { exponentOf, type Measured } from './exponent.ts'

/** The same as on Redis. */
const MOST = 0.3

test('nothing that is asked of a job, and no recount, does more the longer its line is', async () => {
  const { code, out, err } = await runChild('memory-growth').ended
  expect({ code, err }).toEqual({ code: 0, err: '' })
  const { grown, whole } = JSON.parse(out) as {
    grown: Record<string, Record<string, Measured[]>>
    whole: Measured[]
  }
  const exponents = Object.entries(grown).flatMap(([shape, verbs]) =>
    Object.entries(verbs).map(([verb, points]) => ({ shape, verb, exponent: exponentOf(points) })),
  )
  expect(exponents).toHaveLength(28)
  expect(exponents.filter(({ exponent }) => exponent > MOST)).toEqual([])
  // What goes through a whole line is seen to grow.
  expect(exponentOf(whole)).toBeGreaterThan(0.9)
})
