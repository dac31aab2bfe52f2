import { expect, test } from 'vitest'
import { Replay, type StoredEvent } from '../../../src/http/events/replay.ts'

const all = () => true
const ofKey =
  (wanted: string) =>
  ({ key }: Pick<StoredEvent, 'key'>) =>
    key === wanted

class Numbered {
  readonly replay = new Replay()
  number = 0

  add(key: string, times = 1): number {
    for (let n = 0; n < times; n++) {
      const number = ++this.number
      this.replay.add({ number, type: 'verdict', key, text: `${number}` })
    }
    return this.number
  }
}

test('a quiet key keeps its events while others are loud', () => {
  const events = new Numbered()
  events.add('quiet', 3)
  for (let n = 0; n < 30; n++) events.add(`loud-${n}`, 5_000)
  const { events: kept, count, isAtLeast } = events.replay.since(0, ofKey('quiet'))
  expect(kept.map(({ number }) => number)).toEqual([1, 2, 3])
  // 150,000 events went by, and not all that are gone are still counted; but none of these was of this key.
  expect(count).toBe(0)
  expect(isAtLeast).toBe(false)
  expect(events.replay.since(0, all).isAtLeast).toBe(true)
  expect(events.replay.since(events.number, all)).toEqual({ events: [], count: 0, isAtLeast: false })
})

test('a stream of all keys gets the events of a quiet key, too, however many a loud one had since', () => {
  const events = new Numbered()
  events.add('loud', 10)
  const before = events.number
  events.add('quiet', 3)
  events.add('loud', 1_900)
  const { events: replayed, count } = events.replay.since(before, all)
  expect(replayed.filter(({ key }) => key === 'quiet')).toHaveLength(3)
  expect(replayed.length).toBeLessThanOrEqual(1_000)
  expect(replayed.length + count).toBe(1_903)
  const numbers = replayed.map(({ number }) => number)
  expect(numbers).toEqual(numbers.toSorted((one, other) => one - other))
})

test('one replay is bounded in bytes, and the rest is counted', () => {
  const replay = new Replay()
  const text = '\u00fc'.repeat(1_000)
  for (let number = 1; number <= 900; number++) replay.add({ number, type: 'outcome', key: 'k', text })
  const { events: replayed, count } = replay.since(0, all)
  expect(replayed.length * 2_000).toBeLessThanOrEqual(524_288)
  expect(replayed.length).toBeGreaterThan(100)
  expect(replayed.length + count).toBe(900)
  expect(replayed.at(-1)!.number).toBe(900)
  const huge = { number: 901, type: 'outcome', key: 'k', text: text.repeat(1_000) }
  replay.add(huge)
  expect(replay.since(0, all).events).toEqual([huge])
})

test('what is lost is counted, for the listener alone', () => {
  const events = new Numbered()
  const before = events.add('a', 10)
  events.add('a', 1_500)
  events.add('b', 2_000)
  expect(events.replay.since(before, ofKey('a'))).toMatchObject({ count: 500, isAtLeast: false })
  expect(events.replay.since(before, ofKey('b'))).toMatchObject({ count: 1_000, isAtLeast: false })
  const { events: replayed, count } = events.replay.since(before, all)
  expect(replayed).toHaveLength(1_000)
  expect(replayed.at(-1)!.number).toBe(events.number)
  expect(count).toBe(2_500)
})

test('many keys are bounded, and those that were quiet for longest go first', () => {
  const events = new Numbered()
  for (let n = 0; n < 30_000; n++) events.add(`key-${n}`)
  expect(events.replay.since(0, ofKey('key-0'))).toMatchObject({ events: [], isAtLeast: true })
  expect(events.replay.since(0, ofKey('key-29999')).events).toHaveLength(1)
  const { events: replayed, count } = events.replay.since(10_000, all)
  expect(replayed).toHaveLength(1_000)
  expect(replayed.length + count).toBeLessThanOrEqual(20_000)
  expect(replayed.map(({ number }) => number)).toEqual(Array.from({ length: 1_000 }, (_, n) => 29_001 + n))
})

test('after a clear the replay reports that events may be missing', () => {
  const events = new Numbered()
  const last = events.add('a', 2)
  events.replay.clear(last + 1)
  expect(events.replay.since(last, all)).toEqual({ events: [], count: 0, isAtLeast: true })
  expect(events.replay.since(last + 1, all)).toMatchObject({ isAtLeast: false })
})
