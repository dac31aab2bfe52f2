import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { SECOND } from '../../../src/core/duration.ts'
import { parseRule } from '../../../src/core/rule-book.ts'
import type { Retention } from '../../../src/line/options.ts'
import type { MemoryStore } from '../../../src/memory/store/memory-store.ts'
import { request, retryAt, start, storeWith } from '../../support/memory-store.ts'

const FAR = 1_000_000 * SECOND

/** A store of fast lines that remembers so many ended jobs. */
function storeOf(keep: number | Retention = 0): MemoryStore {
  return storeWith('100, 1/s', keep)
}

function admit(store: MemoryStore, key: string, part: Parameters<typeof request>[0] = {}, now = 0): string {
  const admission = store.admit(request({ key, ...part }), now)
  if (!admission.accepted) throw new Error(`refused: ${admission.reason}`)
  return admission.id
}

/** Ends a job that does not start. */
function end(store: MemoryStore, key: string, now: number): void {
  store.cancel(admit(store, key, {}, now), now, key)
}

/** What it uses more after the call. */
function moreBy(store: MemoryStore, key: string, call: () => void): number {
  const before = store.use.of(key)
  call()
  return store.use.of(key) - before
}

describe('the heap that a first segment uses', () => {
  test('grows with each job by its data and something for the job', () => {
    const store = storeOf()
    admit(store, 'a/x')
    const small = moreBy(store, 'a', () => admit(store, 'a/x', { data: 'x'.repeat(10) }))
    const large = moreBy(store, 'a', () => admit(store, 'a/x', { data: 'x'.repeat(1_010) }))
    expect(large - small).toBe(1_000)
    expect(small).toBeGreaterThan(200)
    expect(store.use.of('b')).toBe(0)
  })

  test('grows more by a job with an id, a deadline, or a bucket of its own', () => {
    const store = storeOf()
    admit(store, 'a/x')
    const plain = moreBy(store, 'a', () => admit(store, 'a/x'))
    for (const part of [{ id: 'named' }, { deadline: FAR }, { key: 'a/y' }]) {
      expect(moreBy(store, 'a', () => admit(store, 'a/x', part))).toBeGreaterThan(plain)
    }
  })

  test('is the same after a request that was refused', () => {
    const store = storeWith('1, 1/s')
    admit(store, 'a')
    const more = moreBy(store, 'a', () => {
      expect(store.admit(request({ key: 'a' }), 0).accepted).toBe(false)
      store.forecast('a/other', 1, 0)
    })
    expect(more).toBe(0)
  })

  test('stays while an ended job is remembered, with its result, and no longer', () => {
    const store = storeOf({ jobs: 1, time: 0, most: 10 })
    admit(store, 'a')
    const job = start(store, 0)!
    const more = moreBy(store, 'a', () =>
      store.finish(job, { kind: 'completed', result: 'r'.repeat(500) }, 1),
    )
    expect(more).toBeGreaterThanOrEqual(500)
    expect(store.forget(FAR)).toBe(1)
    expect(store.use.of('a')).toBeGreaterThan(500)
    const next = admit(store, 'a')
    // The next one that ends takes its place.
    expect(moreBy(store, 'a', () => store.cancel(next, FAR))).toBeLessThan(-500)
  })

  test.each([
    [
      'a pause',
      (store: MemoryStore) => store.holds.pause('a/x', 0),
      (store: MemoryStore) => store.holds.resume('a/x', 1),
    ],
    [
      'a freeze',
      (store: MemoryStore) => void store.holds.freeze('a/x', FAR / 2, 0),
      (store: MemoryStore) => void store.holds.unfreeze('a/x', 1),
    ],
    [
      'a turn',
      (store: MemoryStore) => void admit(store, 'a/x', { isTurn: true }),
      (store: MemoryStore) => void store.cancel([...store.waiting()][0]!.id, 1),
    ],
  ])('is nothing again after %s', (_what, begin, end) => {
    const store = storeOf(1_000)
    begin(store)
    expect(store.use.of('a')).toBeGreaterThan(0)
    end(store)
    store.forget(FAR)
    expect(store.use.sum().segments).toBe(0)
  })

  test('counts rules that are set by hand, and no others', () => {
    const store = storeOf()
    const rule = (pattern: string) => parseRule(pattern, '5, 1/s')
    store.changeRules({ kind: 'load', origin: 'file', rules: [rule('a/file')] }, 0)
    expect(store.use.sum().bytes).toBe(0)
    store.changeRules({ kind: 'set', rule: rule('a/x') }, 0)
    const one = store.use.of('a')
    expect(one).toBeGreaterThan(0)
    store.changeRules({ kind: 'set', rule: parseRule('a/x', '6, 1/s') }, 0)
    expect(store.use.of('a')).toBe(one)
    store.changeRules({ kind: 'set', rule: rule('a/x/y/z/t') }, 0)
    expect(store.use.of('a')).toBeGreaterThan(2 * one)
    store.changeRules({ kind: 'reset', pattern: 'a/x/y/z/t' }, 0)
    store.changeRules({ kind: 'unset', pattern: 'a/x' }, 0)
    expect(store.use.sum().segments).toBe(0)
  })

  test('counts quotas that a bucket remembers, until they are over', () => {
    const store = storeWith('100, 1/s, 9/minute', 0)
    const plain = storeWith('100, 1/s', 0)
    const setLimit = (text: string, now: number) =>
      store.changeRules({ kind: 'load', origin: 'file', rules: [parseRule('*', text)] }, now)
    for (const line of [store, plain]) admit(line, 'a')
    start(store, 0)
    for (const line of [store, plain]) admit(line, 'a', {}, 2 * SECOND)
    const more = store.use.of('a') - plain.use.of('a')
    expect(more).toBeGreaterThan(0)
    setLimit('100, 1/s', 2 * SECOND)
    expect(store.use.of('a') - plain.use.of('a')).toBe(more)
    start(store, 70 * SECOND)
    expect(store.use.of('a')).toBe(plain.use.of('a'))
  })

  test('is that of the jobs that are remembered when all have ended, whatever happened', () => {
    const step = fc.record({
      key: fc.constantFrom('a/1', 'a/2', 'b/1', 'c'),
      what: fc.constantFrom('admit', 'name', 'deadline', 'run', 'retry', 'fail', 'cancel', 'freeze', 'pass'),
      size: fc.nat(2_000),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), fc.nat(3), (steps, keep) => {
        const store = storeOf(keep)
        const ids: string[] = []
        let now = 0
        for (const { key, what, size } of steps) {
          const data = JSON.stringify('x'.repeat(size))
          if (what === 'admit') ids.push(admit(store, key, { data }, now))
          if (what === 'name') ids.push(admit(store, key, { id: `n${ids.length}`, data }, now))
          if (what === 'deadline') ids.push(admit(store, key, { data, deadline: FAR }, now))
          const job = ['run', 'retry', 'fail'].includes(what) ? start(store, now) : undefined
          if (job !== undefined && what === 'run') store.finish(job, { kind: 'completed', result: data }, now)
          if (job !== undefined && what === 'retry') store.finish(job, retryAt(now + size), now)
          if (job !== undefined && what === 'fail') store.finish(job, { kind: 'failed', error: data }, now)
          if (what === 'cancel') store.cancel(ids[size % Math.max(1, ids.length)] ?? '', now, key)
          if (what === 'freeze') store.holds.freeze(key, now + size, now)
          if (what === 'pass') now += size * SECOND
          expect(store.use.of('a') + store.use.of('b') + store.use.of('c')).toBe(store.use.sum().bytes)
        }
        for (const { id, key } of [...store.waiting()]) store.cancel(id, now, key)
        // The last ones that end are those that are remembered: the same in a store where nothing else happened.
        const fresh = storeOf(keep)
        for (const each of [store, fresh]) {
          for (const key of ['a/1', 'b/1', 'c']) for (let n = 0; n < keep; n++) end(each, key, FAR)
          each.forget(FAR * 2)
        }
        expect(fresh.use.sum().segments).toBe(keep === 0 ? 0 : 3)
        expect([store.use.sum().bytes, store.use.sum().segments]).toEqual([
          fresh.use.sum().bytes,
          fresh.use.sum().segments,
        ])
      }),
    )
  })
})
