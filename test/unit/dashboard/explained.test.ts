import { expect, test } from 'vitest'
import { withoutTimes } from '../../../src/dashboard/page/data/explained.ts'
import { Stage } from '../../support/stage.ts'

test('the sentence of an explanation is shown without the times that count beside it', async () => {
  const stage = new Stage('9, 1/h')
  for (const id of ['x', 'y', 'z']) await stage.shaper.enqueue('shop in 5 s', 0, { id })
  await stage.shaper.freeze('shop in 5 s', 60_000)
  const { summary } = (await stage.shaper.explain('z'))!
  expect(summary).toMatch(/ for another \d+ s: could depart in \d+ (min|h) at 1\/h/)
  expect(withoutTimes(summary)).toBe(
    'Third in line of shop in 5 s, which is frozen: could depart at 1/h, behind 2 jobs, but no worker takes jobs.',
  )
})
