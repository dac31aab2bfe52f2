import fc from 'fast-check'
import { expect, test } from 'vitest'
import { firstSegment } from '../../src/core/key.ts'
import { Stage } from '../support/stage.ts'

const KEYS = ['a', 'b/1', 'b/2', 'b/3', 'b/4', 'b/5', 'c/1', 'c/2', 'd/1']
/** So long a segment counts at most after its last work, and a refusal holds a second. */
const REMEMBERED_MS = 2 * 60_000 + 1_000
/** So long it counts at least. */
const SURELY_REMEMBERED_MS = 60_000
/** A job that has waited so long is due: a key has a slot every millisecond, and twenty jobs arrive at once at most. */
const DUE_AFTER_MS = 30

const scenario = fc.record({
  size: fc.constantFrom(1, 2, 3, 4, 7, 10, 20),
  /** Whether only one segment has jobs, or only one key. */
  keys: fc.constantFrom(KEYS, KEYS, KEYS, KEYS.slice(1, 6), KEYS.slice(0, 1)),
  tookMs: fc.array(fc.constantFrom(50, 500, 5_000, 70_000), { minLength: 1, maxLength: 5 }),
  steps: fc.array(
    fc.record({
      arrivals: fc.array(fc.record({ key: fc.nat(), count: fc.integer({ min: 1, max: 20 }) }), {
        maxLength: 6,
      }),
      passMs: fc.constantFrom(100, 100, 1_000, 6_000, 30_000, 130_000),
    }),
    { minLength: 1, maxLength: 12 },
  ),
})

/** What a segment has, as the events say. */
class Books {
  readonly size: number
  readonly running = new Map<string, number>()
  /** By key, when its jobs were admitted that have not started. */
  readonly waiting = new Map<string, number[]>()
  /** When a job of each segment last started. */
  readonly worked = new Map<string, number>()

  constructor(size: number) {
    this.size = size
  }

  get free(): number {
    return this.size - [...this.running.values()].reduce((sum, count) => sum + count, 0)
  }

  of(segment: string): number {
    return [...this.running].reduce(
      (sum, [key, count]) => sum + (firstSegment(key) === segment ? count : 0),
      0,
    )
  }

  segments(now: number, within: number): number {
    const busy = [...this.running].filter(([, count]) => count > 0).map(([key]) => firstSegment(key))
    const waiting = [...this.waiting]
      .filter(([, since]) => since.length > 0)
      .map(([key]) => firstSegment(key))
    const worked = [...this.worked].filter(([, at]) => now - at <= within).map(([segment]) => segment)
    return new Set([...busy, ...worked, ...(within > SURELY_REMEMBERED_MS ? waiting : [])]).size
  }

  /** Keys with a job that is due and with no handler. */
  hungry(now: number): string[] {
    const isDue = ([key, [since]]: [string, number[]]) =>
      since !== undefined && now - since > DUE_AFTER_MS && (this.running.get(key) ?? 0) === 0
    return [...this.waiting].filter(isDue).map(([key]) => key)
  }

  /** Those of them whose segments have less than an equal share. */
  starved(now: number): string[] {
    const share = Math.ceil(this.size / this.segments(now, REMEMBERED_MS))
    return this.hungry(now).filter((key) => this.of(firstSegment(key)) < share)
  }
}

test('a segment has no more than its share while another waits, and nothing is idle that one could have', async () => {
  await fc.assert(
    fc.asyncProperty(scenario, async ({ size, keys, tookMs, steps }) => {
      const stage = new Stage('1000, 1000/s')
      const books = new Books(size)
      const faults: string[] = []
      let endedAt = Number.NEGATIVE_INFINITY
      const change = (key: string, by: number) =>
        void books.running.set(key, (books.running.get(key) ?? 0) + by)
      stage.shaper.on('admitted', ({ key, at }) => {
        books.waiting.set(key, [...(books.waiting.get(key) ?? []), at])
      })
      stage.shaper.on('departed', ({ key, at }) => {
        const segment = firstSegment(key)
        const reserve = Math.floor(Math.sqrt(size))
        books.waiting.get(key)!.shift()
        change(key, 1)
        books.worked.set(segment, at)
        const others = books.segments(at, SURELY_REMEMBERED_MS)
        if (others < 2 || books.of(segment) <= Math.ceil(size / others)) return
        if (books.free < reserve)
          faults.push(`at ${at} ${key} left ${books.free} of the ${reserve} kept for others`)
        const starved = books.starved(at).filter((other) => firstSegment(other) !== segment)
        if (starved.length > 0) faults.push(`at ${at} ${key} went beyond its share before ${starved}`)
      })
      stage.shaper.on('completed', ({ key, at }) => {
        change(key, -1)
        endedAt = at
      })
      let starts = 0
      stage.shaper.work(() => stage.sleep(tookMs[starts++ % tookMs.length]!), { concurrency: size })
      for (const { arrivals, passMs } of steps) {
        for (const { key, count } of arrivals) {
          const name = keys[key % keys.length]!
          await stage.shaper.enqueueMany(Array.from({ length: count }, () => ({ key: name, data: 1 })))
        }
        await stage.pass(passMs)
        const { now } = stage
        if (books.free > 0 && books.starved(now).length > 0) {
          faults.push(`at ${now} ${books.free} are free and ${books.starved(now)} have less than their share`)
        }
        const isAlone = keys.length === 1
        const isOverdue = now - (books.waiting.get(keys[0]!)?.[0] ?? now) > DUE_AFTER_MS
        if (isAlone && isOverdue && now - endedAt > DUE_AFTER_MS && books.free > 0) {
          faults.push(`at ${now} ${books.free} are idle, and there is no other key`)
        }
        const mayIdle = 2 * Math.floor(Math.sqrt(size))
        if (books.hungry(now).length > 0 && books.free > mayIdle) {
          faults.push(`at ${now} ${books.free} are idle while ${books.hungry(now)} wait`)
        }
      }
      expect(faults).toEqual([])
      const isDone = () =>
        [...books.waiting.values()].every(({ length }) => length === 0) && books.free === size
      for (let rounds = 0; rounds < 2_000 && !isDone(); rounds++) await stage.pass(60_000)
      await stage.close()
      await stage.conforms()
    }),
    { numRuns: 100 },
  )
})
