import { describe, expect, test } from 'vitest'
import { at, COMPLETED } from '../support/backend-driver.ts'
import { DRIVERS, openFor } from './drivers.ts'

const seconds = (iso: string) => at(0) / -1e6 + Date.parse(iso) / 1_000

describe.each(DRIVERS)('%s: a period of the calendar', (_, open) => {
  test.each([
    [
      'a day',
      'is 23 hours where the clock is set forward',
      'Europe/Berlin',
      '2024-03-30T23:00Z',
      '2024-03-31T22:00Z',
    ],
    ['a day', 'is 25 hours where it is set back', 'Europe/Berlin', '2024-10-26T22:00Z', '2024-10-27T23:00Z'],
    ['a day', 'of Los Angeles is 23 hours', 'America/Los_Angeles', '2024-03-10T08:00Z', '2024-03-11T07:00Z'],
    ['a day', 'of Los Angeles is 25 hours', 'America/Los_Angeles', '2024-11-03T07:00Z', '2024-11-04T08:00Z'],
    [
      'a day',
      'of Lord Howe is half an hour longer',
      'Australia/Lord_Howe',
      '2024-04-06T13:00Z',
      '2024-04-07T13:30Z',
    ],
    [
      'a day',
      'of Lord Howe is half an hour shorter',
      'Australia/Lord_Howe',
      '2024-10-05T13:30Z',
      '2024-10-06T13:00Z',
    ],
    [
      'a day',
      'begins at one where there is no midnight',
      'Asia/Beirut',
      '2024-03-30T22:00Z',
      '2024-03-31T21:00Z',
    ],
    [
      'a day',
      'that ends at midnight twice is 25 hours',
      'Asia/Beirut',
      '2024-10-25T21:00Z',
      '2024-10-26T22:00Z',
    ],
    [
      'an hour',
      'that the clock shows twice is one',
      'Europe/Berlin',
      '2024-10-27T00:00Z',
      '2024-10-27T02:00Z',
    ],
    [
      'an hour',
      'of which half comes twice is one',
      'Australia/Lord_Howe',
      '2024-04-06T14:00Z',
      '2024-04-06T15:30Z',
    ],
    ['a week', 'is an hour shorter', 'Europe/Berlin', '2024-03-24T23:00Z', '2024-03-31T22:00Z'],
  ])('%s %s', async (period, _name, zone, first, next) => {
    const [begin, end] = [seconds(first), seconds(next)]
    const name = period.replace(/^an? /, '')
    const driver = await openFor(open, `40, 20/s, 2 per ${name} in ${zone}, tolerance 0`)
    const startNext = async (then: number): Promise<string | undefined> => {
      const started = await driver.startNext(at(then))
      if (started !== undefined) await driver.finish(started.id, COMPLETED, at(then))
      return started?.id
    }
    await driver.lineUp('abcdef', at(begin - 60))
    expect([await startNext(begin - 60), await startNext(begin - 59)]).toEqual(['a', 'b'])
    // A start within a second of the boundary would count in both periods.
    expect(await startNext(begin + 0.9)).toBeUndefined()
    expect([await startNext(begin + 1.1), await startNext(begin + 1.2)]).toEqual(['c', 'd'])
    expect(await startNext(end - 1.1)).toBeUndefined()
    expect(await startNext(end + 0.9)).toBeUndefined()
    expect([await startNext(end + 1.1), await startNext(end + 1.2)]).toEqual(['e', 'f'])
  })
})
