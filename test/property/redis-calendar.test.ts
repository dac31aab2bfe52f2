import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type CalendarWindow, clockChanges, PERIODS } from '../../src/core/calendar.ts'
import { SECOND } from '../../src/core/duration.ts'
import { entriesAt } from '../../src/core/quota.ts'
import { withLibraries } from '../../src/redis/scripts/script.ts'
import { zoneTable } from '../../src/redis/scripts/zone-tables.ts'
import { lookAt } from '../support/redis-driver.ts'
import { uniquePrefix } from '../support/redis-server.ts'

/** When the entries end in which a start counts: of the scripts, for each of some times; and whether one was behind the table. */
const SCRIPT = withLibraries(
  '#!lua flags=no-writes',
  ['shard', 'quota', 'calendar'],
  `read_now(ARGV[1])
  local part, answer = { zone = ARGV[2], period = ARGV[3] }, {}
  quota.expect_zone(part.zone)
  for index = 4, #ARGV do
    local first, last = quota.ends_at(part, tonumber(ARGV[index]))
    answer[#answer + 1] = string.format('%.0f %.0f', first, last or first)
  end
  return { quota.isBeyond and 'beyond' or 'known', unpack(answer) }`,
)

/** Clocks that are set by an hour, by half of one or by two, at midnight or often, ahead of UTC by odd times, and never. */
const ZONES = [
  'Europe/Berlin',
  'America/Los_Angeles',
  'Australia/Lord_Howe',
  'Asia/Beirut',
  'America/Santiago',
  'America/Havana',
  'Africa/Cairo',
  'Africa/Casablanca',
  'Atlantic/Azores',
  'America/Nuuk',
  'Antarctica/Troll',
  'Pacific/Chatham',
  'Asia/Kathmandu',
  'UTC',
  '+05:30',
]
const NOW = 1_764_000_000
const YEAR = 31_557_600

async function endsIn(
  window: CalendarWindow,
  times: readonly number[],
  now = NOW,
): Promise<{ said: string; ends: number[][] }> {
  const tag = `{${uniquePrefix()}}`
  const [zone = '', table = ''] = zoneTable(window.zone, now * SECOND)
  await lookAt().hset(`${tag}:zones`, zone, table)
  const values = [now * SECOND, zone, window.period, ...times.map((time) => time * SECOND)]
  const [said = '', ...ends] = (await lookAt().eval(SCRIPT, 1, tag, ...values)) as string[]
  await lookAt().del(`${tag}:zones`)
  return { said, ends: ends.map((one) => one.split(' ').map(Number)) }
}

async function expectAlike(window: CalendarWindow, times: readonly number[], now = NOW): Promise<void> {
  const quota = { window }
  const expected = times.map((time) => entriesAt(quota, time * SECOND)).map((ends) => [ends[0], ends.at(-1)])
  expect(await endsIn(window, times, now), `${window.period} in ${window.zone}`).toEqual({
    said: 'known',
    ends: expected,
  })
}

/** Microseconds, hours, half days around a moment. */
const AROUND = [0, 1e-6, 1, 1.000001, 2, 1_799, 1_800, 3_599, 3_600, 7_200, 43_200, 86_399, 86_400, 259_200]
  .flatMap((seconds) => [-seconds, seconds])
  .concat([1 - 3_600, 1_801, 5_400])

test('around each change of the clocks, scripts have the periods of the core', async () => {
  for (const zone of ZONES) {
    const { changes } = clockChanges(zone, NOW - YEAR, NOW + 9 * YEAR, 100)
    const moments = changes.length === 0 ? [NOW] : changes.map(({ at }) => at)
    for (const period of PERIODS) {
      const times = moments.slice(0, 8).flatMap((at) => AROUND.map((seconds) => at + seconds))
      await expectAlike({ zone, period }, times)
    }
  }
})

test('where a clock is set back over midnight, scripts have the periods of the core', async () => {
  const backs = [
    ['America/St_Johns', Date.UTC(2010, 10, 7, 2, 31)],
    ['America/Goose_Bay', Date.UTC(2010, 10, 7, 3, 1)],
    ['Antarctica/Casey', Date.UTC(2010, 2, 4, 15)],
  ] as const
  for (const [zone, at] of backs) {
    const back = at / 1_000
    for (const period of PERIODS) {
      const times = [...AROUND, -61, -60, -59, 840, 3_539, 3_541, 10_799].map((seconds) => back + seconds)
      await expectAlike({ zone, period }, times, back)
    }
  }
})

test('at any time, scripts have the periods of the core', async () => {
  const time = fc
    .double({ min: NOW - YEAR, max: NOW + 9 * YEAR, noNaN: true })
    .map((at) => Math.round(at * 1_000) / 1_000)
  const asked = fc.record({
    zone: fc.constantFrom(...ZONES),
    period: fc.constantFrom(...PERIODS),
    times: fc.array(time, { minLength: 1, maxLength: 20 }),
  })
  await fc.assert(
    fc.asyncProperty(asked, ({ zone, period, times }) => expectAlike({ zone, period }, times)),
    { numRuns: 200 },
  )
})

test('behind what is written of a zone, an end is an estimate: at most two hours too early', async () => {
  for (const zone of ZONES) {
    for (const period of PERIODS) {
      const window = { zone, period }
      const times = Array.from({ length: 40 }, (_, index) => NOW + 11 * YEAR + index * 9.7 * 86_400)
      const { said, ends } = await endsIn(window, times)
      expect(said).toBe('beyond')
      for (const [index, time] of times.entries()) {
        const exact = entriesAt({ window }, time * SECOND)[0]!
        const late = (ends[index]![0]! - exact) / SECOND
        // Where the estimate has begun the next period already, its end is one period later.
        const length = { hour: 3_600, day: 86_400, week: 604_800 }[period]
        expect(late, `${period} in ${zone} at ${time}`).toSatisfy(
          (seconds: number) =>
            (seconds <= 0 && seconds >= -7_200) || (seconds > 0 && Math.abs(seconds - length) <= 7_200),
        )
      }
    }
  }
})
