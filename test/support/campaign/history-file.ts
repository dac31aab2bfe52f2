import { openSync, readFileSync, writeSync } from 'node:fs'
import type { Costs } from '../../../src/index.ts'
import type { HistoryEvent } from '../../../src/testing.ts'

/** One line of the record of a process. */
export type HistoryRecord =
  | {
      readonly kind: 'event'
      readonly event: HistoryEvent
      /** Whose time `event.at` is; the other times of an event are the store's. */
      readonly clock: 'host' | 'store'
      /** When the process learned of it; by the host's clock. */
      readonly seenAt?: number
      /** Of a start: when the store admitted the job. */
      readonly admittedAt?: number
      /** Of a start: its fence, and the digest of its data. */
      readonly fence?: number
      readonly data?: string
      /** Of an answer: it was given once before and did not arrive, so the time is unknown. */
      readonly replayed?: boolean
      /** Of an answer or an end: the store was asked for it, since the process that knew may have died. */
      readonly found?: boolean
      /** Of a fault: the path of the record of the process that failed. */
      readonly of?: string
      /** Of a refusal: the total that had no room, such as `f/`; the limit of the key alone says nothing of it. */
      readonly total?: string
      /** Of an end: the process that held the job fell silent, and no other knows whether it had started. */
      readonly lost?: boolean
    }
  /** The caller of a turn went on, in its own code; by the host's clock. */
  | { readonly kind: 'resumed'; readonly at: number; readonly id: string; readonly isSameTurn: boolean }
  /** A handler found its signal aborted in its first statement: the lease of the job was over. By the host's clock. */
  | { readonly kind: 'late'; readonly at: number; readonly id: string }
  /** The same, because its slot had passed. */
  | { readonly kind: 'missed-slot'; readonly at: number; readonly id: string }
  /**
   * The process that wrote `path` was stopped at `from`, and went on at `until`; by the host's clock. `losesLeases`: that may
   * be longer than what was left of its leases. `records`: how many it had written when it went on. `leaseUntil`: its leases
   * last until then at the least.
   */
  | {
      readonly kind: 'stood'
      readonly path: string
      readonly from: number
      readonly until: number
      readonly losesLeases: boolean
      readonly records: number
      readonly leaseUntil: number
    }
  | ({ readonly kind: 'clock' } & ClockSample)
  /** A call that changes the line was made; by the host's clock. `call` is its number in this process. */
  | { readonly kind: 'asked'; readonly at: number; readonly call: number; readonly asked: readonly Asked[] }
  /** It ended, with an answer to each of its questions, or without one. */
  | {
      readonly kind: 'answered'
      readonly at: number
      readonly call: number
      readonly answers: readonly string[] | 'unknown'
    }
  /** A worker got so many jobs of a fast key to start one after the other; by the host's clock. */
  | { readonly kind: 'run'; readonly at: number; readonly jobs: number }
  /** A handler settled; by the host's clock. */
  | { readonly kind: 'settled'; readonly at: number; readonly id: string; readonly attempt: number }
  /** A handler says what its attempt really took; by the host's clock. */
  | {
      readonly kind: 'settle-asked'
      readonly at: number
      /** Its number among those of this process. */
      readonly call: number
      readonly id: string
      readonly fence: number
      readonly amounts: Costs
    }
  /** What it was answered. */
  | {
      readonly kind: 'settle-answered'
      readonly at: number
      readonly call: number
      readonly answer: boolean | 'unknown'
    }
  /** A worker learned that the lease of a job that it ran was over, before the store had said what became of the job. */
  | { readonly kind: 'lease-lost'; readonly at: number; readonly id: string }
  /** Something happened to the whole that no law is about, in words; by the host's clock. */
  | { readonly kind: 'note'; readonly at: number; readonly text: string }
  /** The clock of the store moved by so much at `at` on the host's; microseconds. */
  | { readonly kind: 'moved'; readonly at: number; readonly by: number }
  | ({ readonly kind: 'lost' } & Loss)
  /** Something was done to the process that wrote `path`, or without one to Redis; by the host's clock. */
  | { readonly kind: 'disturbed'; readonly path?: string; readonly from: number; readonly until: number }
  /** A call ended with an error that says that the store is away; `isLate`: not before thirty turns of 100 ms. */
  | { readonly kind: 'unavailable'; readonly at: number; readonly tookMs: number; readonly isLate: boolean }

/** The store died at `at`, and lost what it had decided since `from`, or a part of that; at `to` it was back. By the host's clock. */
export interface Loss {
  readonly from: number
  readonly at: number
  readonly to: number
}

/** A worker waits so long for a slot: one that was granted before the store died may be used when it is back. Microseconds. */
export const GRANTED_AHEAD = 300_000

/** One question of a call that changes the line. */
export interface Asked {
  readonly do: 'admit' | 'cancel'
  readonly id: string
  readonly key: string
  readonly cost: number
  /** What it counts in units that it names. */
  readonly costs?: Costs
  readonly deadlineMs?: number
  /** The digest of its data. */
  readonly data?: string
}

/** What the store's clock said at `at` on the host's, give or take half the round trip. Microseconds. */
export interface ClockSample {
  readonly at: number
  readonly store: number
  readonly roundTrip: number
}

export type EventRecord = HistoryRecord & { readonly kind: 'event' }
export type StartRecord = EventRecord & { readonly event: { readonly type: 'start' } }

export function isEvent(record: HistoryRecord): record is EventRecord {
  return record.kind === 'event'
}

export function isStart(record: HistoryRecord): record is StartRecord {
  return isEvent(record) && record.event.type === 'start'
}

/** Where a process writes down what it does. A line is in the file when `write` returns: SIGKILL loses none. */
export class HistoryFile {
  readonly #fd: number

  constructor(path: string) {
    this.#fd = openSync(path, 'a')
  }

  write(record: HistoryRecord): void {
    writeSync(this.#fd, `${JSON.stringify(record)}\n`)
  }
}

const OVER = ['settled', 'late', 'missed-slot', 'lease-lost'] as const

/** Whether it says that a handler does nothing more. */
export function isOver(
  record: HistoryRecord,
): record is HistoryRecord & { readonly kind: (typeof OVER)[number] } {
  return (OVER as readonly string[]).includes(record.kind)
}

/** The whole lines of a file that may still grow. */
export function readRecords(path: string): HistoryRecord[] {
  const lines = readFileSync(path, 'utf8').split('\n')
  return lines.slice(0, -1).map((line) => JSON.parse(line))
}

/**
 * The records of each process, by its path. A process may be stopped after a handler has read the clock, and before it has written
 * its start down. While the process stands still no file tells of that start, so its fault is added here.
 */
export function readFiles(paths: readonly string[]): Map<string, readonly HistoryRecord[]> {
  const files = new Map(paths.map((path) => [path, readRecords(path)]))
  const withFault = (record: HistoryRecord): HistoryRecord[] => {
    if (record.kind !== 'stood' || !record.losesLeases) return [record]
    const { path: of, from: at, records, leaseUntil } = record
    const next = files.get(of)?.slice(records).find(isStart)
    if (next === undefined || next.event.at > at) return [record]
    const event = { type: 'fault', at, id: next.event.id, leaseUntil } as const
    return [record, { kind: 'event', clock: 'host', event, of }]
  }
  return new Map([...files].map(([path, records]) => [path, records.flatMap(withFault)]))
}
