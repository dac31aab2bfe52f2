import { describe, expect, test } from 'vitest'
import { FamilyStage, STEP } from '../support/family-stage.ts'
import { DRIVERS } from './drivers.ts'

async function setAgain({ driver, now }: FamilyStage, limit: string): Promise<void> {
  await driver.unsetRule('a/', now)
  await driver.setRule('a/', limit, now)
}

describe.each(DRIVERS)('%s: a total that is removed and set again', (_, open) => {
  test('keeps its pace', async () => {
    const family = await FamilyStage.open(open, { '*': '100, 100/s', 'a/': '50, 1/s' })
    await family.fill('a/1', 1)
    await family.pass(0.1)
    await setAgain(family, '50, 1/s')
    await family.fill('a/1', 1)
    await family.pass(2)
    expect(family.starts.map(({ seconds }) => seconds)).toEqual([STEP, 1 + STEP])
  })

  test('counts on what its quota counted', async () => {
    const family = await FamilyStage.open(open, { '*': '100, 100/s', 'a/': '50, 100/s, 2 / 5s' })
    await family.fill('a/1', 2)
    await family.pass(0.1)
    await setAgain(family, '50, 100/s, 2 / 5s')
    await family.fill('a/1', 1)
    await family.pass(4.9)
    expect(family.starts).toHaveLength(2)
    await family.pass(0.3)
    expect(family.starts).toHaveLength(3)
  })

  test('stays paused', async () => {
    const family = await FamilyStage.open(open, { '*': '100, 100/s', 'a/': '50, 1/s' })
    await family.fill('a/1', 3)
    await family.driver.pause('a/', family.now)
    await setAgain(family, '50, 1/s')
    await family.pass(2)
    expect(family.starts).toEqual([])
    await family.driver.resume('a/', family.now)
    await family.pass(2)
    expect(family.starts).toHaveLength(2)
  })
})

test.each(DRIVERS)('%s: a total that comes between two counts also where nothing waits', async (_, open) => {
  const inner = '50, 100/s, 50/minute'
  const family = await FamilyStage.open(open, { '*': '100, 100/s', 'a/': '50, 100/s', 'a/x/y/': inner })
  await family.fill('a/x/y/1', 1)
  await family.pass(5)
  // The bucket is forgotten, and the total above it remembers what its quota counted.
  await family.driver.forget(family.now)
  expect((await family.driver.list({}, family.now)).buckets).toEqual([])
  await family.driver.setRule('a/x/', '50, 1/s', family.now)
  await family.fill('a/x/y/1', 20)
  await family.pass(2)
  expect(family.starts).toHaveLength(3)
})
