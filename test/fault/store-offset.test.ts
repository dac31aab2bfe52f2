import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { HistoryFile, type HistoryRecord } from '../support/campaign/history-file.ts'
import { mergeHistories } from '../support/campaign/merge-histories.ts'
import type { Reading } from '../support/campaign/store-offset.ts'
import { accept, end, giveBack, start } from '../support/history.ts'

/** The store's clock is set back by 30 s at 60 s of the host's, as by a failover to another clock. */
const MOVED_AT = 60_000
const BY = -30_000
const US = 1_000

type Event = (HistoryRecord & { kind: 'event' })['event']
type Era = 'before' | 'after'

/** Decided `atMs` after the host's zero, by the clock of that era. */
const decided = (event: Event, era: Era, seenAtMs?: number): HistoryRecord => ({
  kind: 'event',
  clock: 'store',
  event: { ...event, at: event.at + (era === 'after' ? BY * US : 0) } as Event,
  ...(seenAtMs !== undefined && { seenAt: seenAtMs * US }),
})
const host = (event: Event): HistoryRecord => ({ kind: 'event', clock: 'host', event })
const asked = (atMs: number, what: 'admit' | 'cancel' = 'admit'): HistoryRecord => {
  return { kind: 'asked', at: atMs * US, call: 1, asked: [{ do: what, id: 'x', key: 'a', cost: 1 }] }
}

function timesOf(records: readonly HistoryRecord[], reading?: Reading, byMs = BY): [string, number][] {
  const folder = mkdtempSync(join(tmpdir(), 'velvet-rope-offset-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'worker-0.jsonl')
  const file = new HistoryFile(path)
  file.write({ kind: 'clock', at: 0, store: 0, roundTrip: 10 })
  file.write({ kind: 'moved', at: MOVED_AT * US, by: byMs * US })
  for (const record of records) file.write(record)
  return mergeHistories([path], reading).history.map(({ type, at }) => [type, at / US])
}

test('an end that a worker with slow calls dates after it knew of it is of the clock of its start', () => {
  const ran = [host(start(80_000, 'x')), decided(end(80_022, 'x'), 'after', 80_011)]
  expect(timesOf(ran)).toEqual([
    ['start', 80_000],
    ['end', 80_022],
  ])
  const returned = [host(start(80_000, 'x')), decided(giveBack(80_022, 'x', 'retry'), 'after', 80_011)]
  expect(timesOf(returned)).toEqual([
    ['start', 80_000],
    ['return', 80_022],
  ])
})

test('what a process learns of long after it happened is of the clock of the question', () => {
  const before = [asked(59_000), decided(accept(59_500, 'x'), 'before', 89_400)]
  expect(timesOf(before)).toEqual([['answer', 59_500]])
  // From the question on, it was too late for the old clock.
  const after = [asked(70_000), decided(accept(70_500, 'x'), 'after', 70_400)]
  expect(timesOf(after)).toEqual([['answer', 70_500]])
  const cancelled = [asked(70_000, 'cancel'), decided(end(70_500, 'x', 'cancelled'), 'after', 70_400)]
  expect(timesOf(cancelled)).toEqual([['end', 70_500]])
})

test('a question that had no answer and is asked again may have been answered the first time', () => {
  const again = [asked(59_000), asked(70_000), decided(accept(59_500, 'x'), 'before', 89_400)]
  expect(timesOf(again)).toEqual([['answer', 59_500]])
})

test('where both moments fit, the reading says which is taken', () => {
  const either = [asked(10_000), decided(accept(59_500, 'x'), 'before', 95_000)]
  expect(timesOf(either)).toEqual([['answer', 89_500]])
  expect(timesOf(either, 'earliest')).toEqual([['answer', 59_500]])
  // Known before the clock was moved: nothing is to be chosen.
  const known = [asked(10_000), decided(accept(59_500, 'x'), 'before', 59_501)]
  for (const reading of ['latest', 'earliest'] as const)
    expect(timesOf(known, reading)).toEqual([['answer', 59_500]])
})

test('a clock that is set forwards has each time once', () => {
  const [ended] = [{ ...decided(end(70_000, 'x'), 'before'), clock: 'store' } as HistoryRecord]
  expect(timesOf([ended!], 'latest', 5_000)).toEqual([['end', 65_000]])
  expect(timesOf([ended!], 'earliest', 5_000)).toEqual([['end', 65_000]])
})
