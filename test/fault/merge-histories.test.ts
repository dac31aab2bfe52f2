import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { checkHistory } from '../../src/testing.ts'
import { causesIn } from '../support/campaign/causes.ts'
import { HistoryFile, type HistoryRecord, readRecords } from '../support/campaign/history-file.ts'
import { hostNow } from '../support/campaign/host-time.ts'
import { mergeHistories, runningIn, withoutEnd } from '../support/campaign/merge-histories.ts'
import { noteFault, noteStop } from '../support/campaign/note-fault.ts'
import { accept, end, freeze, giveBack, limit, reject, start } from '../support/history.ts'

const folder = mkdtempSync(join(tmpdir(), 'velvet-rope-merge-'))
afterAll(() => rmSync(folder, { recursive: true }))

let files = 0
function written(...records: HistoryRecord[]): string {
  const path = join(folder, `${files++}.jsonl`)
  const file = new HistoryFile(path)
  for (const record of records) file.write(record)
  return path
}

type Event = (HistoryRecord & { kind: 'event' })['event']
const host = (event: Event): HistoryRecord => ({ kind: 'event', clock: 'host', event })
/** The clock of the store is 1,000 ms ahead. */
const store = (event: Event): HistoryRecord => ({
  kind: 'event',
  clock: 'store',
  event: { ...event, at: event.at + 1e6 },
})
const clock = (offByUs = 0, roundTrip = 100): HistoryRecord => ({
  kind: 'clock',
  at: 0,
  store: 1e6 + offByUs,
  roundTrip,
})
const merged = (paths: string[]) =>
  mergeHistories(paths).history.map((event) => [event.type, 'id' in event ? event.id : '', event.at / 1_000])

test('what the store decided and what a process saw are put in the order in which they happened', () => {
  const producer = written(store(accept(10, 'x')), store(accept(20, 'y')), clock(300, 800))
  const worker = written(clock(0, 50), host(start(15, 'x')), store(end(18, 'x')), host(start(115, 'y')))
  expect(merged([producer, worker])).toEqual([
    ['answer', 'x', 10],
    ['start', 'x', 15],
    ['end', 'x', 18],
    ['answer', 'y', 20],
    ['start', 'y', 115],
  ])
})

test('the times that an event names are converted to the clock of the host, too', () => {
  const later = 1_050
  const path = written(
    clock(),
    store(reject(10, 'x', { retryAt: later })),
    store(reject(11, 'y', { retryAt: Infinity, reason: 'too-costly' })),
    store(giveBack(12, 'x', 'retry', later)),
    store(freeze(13, later)),
  )
  expect(mergeHistories([path]).history).toMatchObject([
    { retryAt: 50_000 },
    { retryAt: Infinity },
    { readyAt: 50_000 },
    { until: 50_000 },
  ])
})

test('a comparison of the clocks that errs by microseconds turns no cause and effect around', () => {
  const path = written(clock(), store(accept(10.1, 'x')), host(start(10, 'x')), store(end(9.9, 'x')))
  expect(merged([path])).toEqual([
    ['answer', 'x', 9.999],
    ['start', 'x', 10],
    ['end', 'x', 10],
  ])
})

test('a start that is well before the acceptance, or after the end, stays where it was seen', () => {
  const path = written(clock(), store(accept(13, 'x')), host(start(10, 'x')), store(end(7, 'x')))
  expect(merged([path])).toEqual([
    ['end', 'x', 7],
    ['start', 'x', 10],
    ['answer', 'x', 13],
  ])
})

test('an answer that was lost, and given again, counts from the admission that the worker saw', () => {
  const replayed: HistoryRecord = { kind: 'event', clock: 'host', event: accept(900, 'x'), replayed: true }
  const started: HistoryRecord = {
    kind: 'event',
    clock: 'host',
    event: start(700, 'x'),
    admittedAt: 1_005_000,
  }
  expect(merged([written(clock(), replayed), written(started)])).toEqual([
    ['answer', 'x', 5],
    ['start', 'x', 700],
  ])
})

test('what the store was asked for counts once, and only where no process wrote it down', () => {
  const found = (record: HistoryRecord): HistoryRecord => ({ ...record, found: true }) as HistoryRecord
  const one = written(
    clock(),
    store(accept(10, 'x')),
    found(store(end(40, 'x'))),
    found(store(accept(12, 'y'))),
  )
  const other = written(found(store(accept(11, 'x'))), store(end(30, 'x')), found(store(accept(12, 'y'))))
  expect(merged([one, other])).toEqual([
    ['answer', 'x', 10],
    ['answer', 'y', 12],
    ['end', 'x', 30],
  ])
})

test('a turn that was lost with its process failed if it had started, and was given up if not', () => {
  const lost = (id: string): HistoryRecord =>
    ({ ...store(end(30, id, 'failed')), lost: true }) as HistoryRecord
  const path = written(clock(), host(start(20, '~x')), lost('~x'), lost('~y'))
  expect(mergeHistories([path]).history).toMatchObject([
    { type: 'start' },
    { id: '~x', outcome: 'failed' },
    { id: '~y', outcome: 'cancelled' },
  ])
})

test('a job that failed without a start is not taken for one that was cancelled', () => {
  const lost = { ...store(end(30, 'x', 'failed')), lost: true } as HistoryRecord
  const { history } = mergeHistories([written(clock(), store(accept(1, 'x')), lost)])
  const breaches = checkHistory([limit(0, '10, 100/s'), ...history])
  expect(breaches).toMatchObject([{ law: 'L5', message: expect.stringContaining('failed at') }])
})

test('a retry that the worker could not report shows in the number of the next attempt', () => {
  const at = (n: number) => ({ ...start(15, 'x'), at: 15_000 + n * 1_000 })
  const ran = [host(at(0)), { kind: 'settled', at: 16_000, id: 'x', attempt: 1 } as const]
  const lost = { kind: 'lease-lost', at: 40_000, id: 'x' } as const
  const other = (attempt: number) => written(clock(), host({ ...at(20), attempt } as Event))
  const types = (...paths: string[]) => mergeHistories(paths).history.map(({ type }) => type)
  expect(types(written(clock(), ...ran, lost), other(2))).toEqual(['start', 'return', 'start'])
  expect(types(written(clock(), ...ran, lost), other(1))).toEqual(['start', 'start'])
  expect(types(written(clock(), ...ran), other(2))).toEqual(['start', 'start'])
})

test('a retry whose worker died before it knew of the answer is no start too many', () => {
  const at = (n: number) => ({ ...start(15, 'x'), at: 15_000 + n * 1_000 })
  const settled = { kind: 'settled', at: 16_000, id: 'x', attempt: 1 } as const
  const other = (attempt: number) => written(clock(), host({ ...at(20), attempt } as Event))
  const types = (of: string, attempt: number) => {
    const death = { ...host({ type: 'fault', at: 17_000, id: 'x' }), of } as HistoryRecord
    return mergeHistories([of, other(attempt), written(clock(), death)]).history.map(({ type }) => type)
  }
  const dead = () => written(clock(), host(at(0)), settled)
  expect(types(dead(), 2)).toEqual(['start', 'return', 'start'])
  expect(types(dead(), 1)).toEqual(['start', 'fault', 'start'])
  expect(types(written(clock(), host(at(0))), 2)).toEqual(['start', 'fault', 'start'])
})

test('a job that was rejected, and accepted by a call whose process died, was accepted', () => {
  const refused = { type: 'answer', accepted: false, id: 'x', key: 'k', cost: 1, at: 1_000 } as const
  const rejection = store({ ...refused, reason: 'full', retryAt: 2_000 })
  const found = { ...store(accept(3, 'x')), found: true } as HistoryRecord
  const { history } = mergeHistories([written(clock(), rejection), written(clock(), found)])
  expect(history.map((event) => event.type === 'answer' && event.accepted)).toEqual([false, true])
})

test('where the clock of the store was moved there is no verdict', () => {
  expect(() => mergeHistories([written(clock(), clock(50_000))])).toThrow(
    'the clock of the store was moved against the host',
  )
  expect(() => mergeHistories([written(host(start(1, 'x')))])).toThrow('expected a comparison of the clocks')
})

test('the calls that found the store away are listed with their length', () => {
  const call: HistoryRecord = { kind: 'unavailable', at: 5, tookMs: 1_500, isLate: false }
  expect(mergeHistories([written(clock(), call)])).toEqual({ history: [], unavailable: [call] })
})

test('jobs in a handler, and jobs without an end, are read from a file that may still grow', () => {
  const path = written(
    store(accept(0, 'x')),
    ...['x', 'y', 'z'].map((id, n) => host(start(n, id))),
    store(end(5, 'x')),
    store(giveBack(6, 'y', 'retry')),
    store(accept(7, 'w')),
  )
  writeFileSync(path, '{"kind":"event","cl', { flag: 'a' })
  expect(runningIn(path)).toEqual({ ids: ['z'], lastAt: 2_000, atWork: new Set(['z']) })
  expect(withoutEnd([path])).toEqual(['w'])
})

describe('a fault', () => {
  const fault = (ms: number, of: string): HistoryRecord => {
    return { kind: 'event', clock: 'host', event: { type: 'fault', at: ms * 1_000, id: 'x' }, of }
  }
  const breachesOf = (starts: string[], faults: HistoryRecord[]) => {
    const producer = written(clock(), store(accept(1, 'x')), store(end(900, 'x')))
    const { history } = mergeHistories([producer, ...starts, written(...faults)])
    return checkHistory([limit(0, '10, 100/s'), ...history]).map(({ law }) => law)
  }

  test('of the process that ran the job excuses one more start', () => {
    const [one, other] = [written(host(start(10, 'x'))), written(host(start(200, 'x')))]
    expect(breachesOf([one, other], [fault(50, one)])).toEqual([])
    expect(breachesOf([one, other], [])).toEqual(['L5'])
  })

  test('of a process that did not run the job, or only later, excuses none', () => {
    const [one, other] = [written(host(start(10, 'x'))), written(host(start(200, 'x')))]
    expect(breachesOf([one, other], [fault(50, other)])).toEqual(['L5'])
    expect(breachesOf([one, other], [fault(50, 'a third')])).toEqual(['L5'])
  })

  test('of a process that stood still and then died excuses one start, not two', () => {
    const worker = written(host(start(10, 'x')))
    const others = [written(host(start(200, 'x'))), written(host(start(400, 'x')))]
    expect(breachesOf([worker, ...others], [fault(50, worker), fault(60, worker)])).toEqual(['L5'])
  })

  test('of a process that wrote a start down only after it had stood still excuses one more', () => {
    const breachesAfter = (startMs: number, losesLeases = true) => {
      const [worker, other] = [written(), written(host(start(200, 'x')))]
      const stop = { from: 40_000, until: 150_000, leaseUntil: 50_000, losesLeases, records: 0 }
      new HistoryFile(worker).write(host(start(startMs, 'x')))
      return breachesOf([worker, other], [{ kind: 'stood', path: worker, ...stop }])
    }
    expect(breachesAfter(39)).toEqual([])
    expect(breachesAfter(39, false)).toEqual(['L5'])
    expect(breachesAfter(151)).toEqual(['L5'])
  })

  test('is noted for a stop that may lose leases, and not for one of a few milliseconds', () => {
    const noted = (forMs: number, role: 'worker' | 'producer' = 'worker') => {
      const worker = written(host(start(10, 'x')))
      const file = written()
      const plan = { file: worker, limit: '10, 100/s', [role]: {} }
      noteStop(new HistoryFile(file), plan, hostNow() - forMs * 1_000, 5_000)
      return readRecords(file).map((record) => (record.kind === 'event' ? record.event.type : record.kind))
    }
    expect(noted(5)).toEqual(['stood'])
    expect(noted(4_000)).toEqual(['fault', 'crash', 'stood'])
  })
})

test('a producer that is killed excuses no order of what it got in, and a worker that of what it may have held', () => {
  const orderAfter = (role: 'worker' | 'producer') => {
    const victim = written(clock(), store(accept(1, 'x')), store(accept(2, 'y')))
    const campaign = written()
    noteFault(new HistoryFile(campaign), { file: victim, limit: '10, 100/s', [role]: {} }, 3_000)
    const starts = [host(start(20, 'y')), host(start(120, 'x')), store(end(130, 'y')), store(end(130, 'x'))]
    const { history } = mergeHistories([victim, campaign, written(...starts)])
    return checkHistory([limit(0, '10, 100/s'), ...history]).map(({ law }) => law)
  }
  expect(orderAfter('producer')).toEqual(['L4'])
  expect(orderAfter('worker')).toEqual([])
})

describe('a start whose handler found its lease over', () => {
  const stood = (path: string, ms: number, losesLeases = true): HistoryRecord => {
    const [from, until] = [(ms - 4) * 1_000, ms * 1_000]
    return {
      kind: 'stood',
      path,
      from,
      until,
      losesLeases,
      records: readRecords(path).length,
      leaseUntil: from,
    }
  }
  const late = (ms: number, id: string): HistoryRecord => ({ kind: 'late', at: ms * 1_000, id })
  const startsIn = (paths: string[]) => merged(paths).filter(([type]) => type === 'start')

  test('is left out where it is the first of its process after a stop', () => {
    const worker = written(clock(), host(start(10, 'x')), host(start(50, 'y')), late(50, 'y'))
    expect(startsIn([worker, written(stood(worker, 40))])).toEqual([['start', 'x', 10]])
  })

  test('counts where its process was not stopped, and where it came before the stop', () => {
    const worker = written(clock(), host(start(50, 'y')), late(50, 'y'))
    expect(startsIn([worker])).toHaveLength(1)
    expect(startsIn([worker, written(stood(written(), 40))])).toHaveLength(1)
    expect(startsIn([worker, written(stood(worker, 60))])).toHaveLength(1)
  })

  test('counts where the stop was too short to lose a lease', () => {
    const worker = written(clock(), host(start(50, 'y')), late(50, 'y'))
    expect(startsIn([worker, written(stood(worker, 40, false))])).toHaveLength(1)
    expect(startsIn([worker, written(stood(worker, 40))])).toEqual([])
  })

  test('counts where another was started between the stop and it, or where the handler saw no reason to stop', () => {
    const second = written(clock(), host(start(45, 'x')), host(start(50, 'y')), late(50, 'y'))
    expect(startsIn([second, written(stood(second, 40))])).toHaveLength(2)
    const unaware = written(clock(), host(start(50, 'y')))
    expect(startsIn([unaware, written(stood(unaware, 40))])).toHaveLength(1)
  })
})

test('what a handler settled counts as its process heard, and without an answer it counts the least that it may', () => {
  const started = { ...start(10, 'x'), costs: { tokens: 5 }, fence: 7 }
  const asked = (call: number, tokens: number): HistoryRecord => {
    return { kind: 'settle-asked', at: 12_000 + call, call, id: 'x', fence: 7, amounts: { tokens } }
  }
  const settlesOf = (...records: HistoryRecord[]) =>
    mergeHistories([written(clock(), host(started), ...records)]).history.filter(
      ({ type }) => type === 'settle',
    )
  const settle = { type: 'settle', at: 13_000, id: 'x', key: 'a', amounts: { tokens: 2 }, fence: 7 } as const
  const answered = { kind: 'settle-answered', at: 14_000, call: 1, answer: true } as const
  expect(settlesOf(asked(1, 2), store(settle), answered)).toMatchObject([settle])
  // The process died before the answer came: more than was named may not have counted.
  const least = (tokens: number) => [{ ...settle, at: 12_001, amounts: { tokens } }]
  expect(settlesOf(asked(1, 2))).toEqual(least(2))
  expect(settlesOf(asked(1, 9))).toEqual(least(5))
  expect(settlesOf(asked(1, 4), asked(2, 3))).toEqual(least(3))
  expect(settlesOf(asked(1, 2), { ...answered, answer: false })).toEqual([])
  // It was heard of before its start by the clock of the store.
  expect(settlesOf(asked(1, 2), store({ ...settle, at: 9_900 }), answered)).toMatchObject([{ at: 10_000 }])
})

test('a job whose process died in its handler has its place for as long as its lease lasts at the least, and no other', () => {
  const leasesOf = (...records: HistoryRecord[]) => {
    const path = written(clock(), host(start(10, 'x')), ...records)
    const campaign = join(folder, `${files++}.jsonl`)
    const plan = { limit: '5, 10/s, 2 at once', file: path, worker: { leaseMs: 5_000 } }
    noteFault(new HistoryFile(campaign), plan, 20_000)
    return readRecords(campaign).flatMap((record) =>
      record.kind === 'event' && record.event.type === 'fault' ? [record.event.leaseUntil] : [],
    )
  }
  expect(leasesOf()).toEqual([1_020_000])
  expect(leasesOf({ kind: 'settled', at: 15_000, id: 'x', attempt: 1 })).toEqual([undefined])
  expect(leasesOf({ kind: 'lease-lost', at: 15_000, id: 'x' })).toEqual([undefined])
})

test('a settlement is caused by its start, as the end is that comes later', () => {
  const settle = { type: 'settle', at: 16, id: 'x', key: 'a', amounts: { tokens: 2 }, fence: 7 } as const
  const file = [host(start(15, 'x')), store(settle), store(end(18, 'x'))]
  const causes = causesIn(file)
  expect(file.map((record) => causes.get(record))).toEqual([undefined, start(15, 'x').at, start(15, 'x').at])
})
