import { describe, expect, test } from 'vitest'
import { at, failAndRetry, request } from '../support/backend-driver.ts'
import { DRIVERS, openFor } from './drivers.ts'

const FAR = 10_000

describe.each(DRIVERS)('%s: a job far behind', (_, open) => {
  const lined = async (count: number) => {
    const driver = await openFor(open, '100000, 1/s')
    await driver.admitMany(
      Array.from({ length: count }, (_, n) => request(`j${n}`)),
      at(0),
    )
    return driver
  }
  const places = async (driver: Awaited<ReturnType<typeof lined>>, id: string) => {
    const [view, facts] = [await driver.job(id, at(3)), await driver.facts(id, at(3))]
    const { position, ahead } = facts!.wait!
    return [view?.position, position, ahead.jobs, ahead.cost, ahead.ids.length]
  }

  test('has an exact position, also where others left before it', async () => {
    const driver = await lined(700)
    expect(await places(driver, 'j699')).toEqual([700, 700, 699, 699, 10])
    for (let n = 300; n < 330; n++) await driver.cancel(`j${n}`, at(0))
    expect(await places(driver, 'j299')).toEqual([300, 300, 299, 299, 10])
    expect(await places(driver, 'j699')).toEqual([670, 670, 669, 669, 10])
  })

  test('has a position that is not too low where others wait to be tried again', async () => {
    const driver = await lined(303)
    for (let seconds = 0; seconds < 3; seconds++) {
      const { id } = (await driver.startNext(at(seconds)))!
      await driver.finish(id, failAndRetry(at(FAR + seconds)), at(seconds))
    }
    // Of 300 in the line, the first 200 are looked at.
    expect(await places(driver, 'j202')).toEqual([200, 200, 199, 199, 10])
    // One retry may be ready before the next, and three before the last.
    expect(await places(driver, 'j203')).toEqual([202, 202, 201, 201, 10])
    expect(await places(driver, 'j302')).toEqual([303, 303, 302, 302, 10])
    // The retries depart after all of the line.
    expect(await places(driver, 'j2')).toEqual([303, 303, 302, 302, 10])
  })
})
