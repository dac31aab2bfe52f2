import { expect, test } from 'vitest'
import { departureOf } from '../../../src/dashboard/page/data/explained.ts'
import { Stage } from '../../support/stage.ts'

test('the first in line departs with its bucket, at an unknown time while no worker takes jobs', async () => {
  const stage = new Stage('9, 1/h')
  for (const id of ['x', 'y']) await stage.shaper.enqueue('k', 0, { id })
  const known = async (id: string) => {
    const { nextDepartureAt } = (await stage.shaper.inspect('k'))!
    const explanation = (await stage.shaper.explain(id))!
    return { nextDepartureAt, departsAt: departureOf(explanation, nextDepartureAt), explanation }
  }
  const first = await known('x')
  expect(first.nextDepartureAt).toBeDefined()
  expect(first.departsAt).toBeUndefined()
  stage.shaper.work(() => new Promise(() => undefined))
  await stage.pass(0)
  const second = await known('y')
  expect(second.departsAt).toBe(second.nextDepartureAt)
  expect(departureOf(second.explanation, 5)).toBe(5)
  expect(departureOf(second.explanation, undefined)).toBe(second.explanation.departsAt)
})
