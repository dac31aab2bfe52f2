import { SECOND } from '../../src/core/duration.ts'
import { LayeredBook, parseLayer } from '../../src/core/layered-book.ts'
import type { LimitInput } from '../../src/core/limit.ts'
import type { JobRequest } from '../../src/line/job.ts'
import { type Retention, retentionOf } from '../../src/line/options.ts'
import type { Walk } from '../../src/memory/store/bucket-walk.ts'
import type { JobRecord } from '../../src/memory/store/job-record.ts'
import type { Outcome } from '../../src/memory/store/job-transitions.ts'
import { MemoryStore } from '../../src/memory/store/memory-store.ts'

const SETTINGS = {
  attempts: 3,
  backoff: { type: 'fixed', delayMs: 1_000, maxDelayMs: 1_000, jitter: 0 },
  timeoutMs: 60_000,
} as const

export function request(part: Partial<JobRequest> = {}): JobRequest {
  return {
    id: undefined,
    key: 'a',
    data: '1',
    cost: 1,
    deadline: Number.POSITIVE_INFINITY,
    settings: SETTINGS,
    ...part,
  }
}

export function storeWith(
  limits: string | Record<string, LimitInput>,
  keepFinished: number | Retention = 1_000,
): MemoryStore {
  return new MemoryStore(
    LayeredBook.of(parseLayer(typeof limits === 'string' ? { '*': limits } : limits)),
    retentionFor(keepFinished),
  )
}

/** So many of each first segment, and none for longer than the lines on Redis must. */
export function retentionFor(keep: number | Retention): Retention {
  return typeof keep === 'number' ? retentionOf({ keepFinished: keep, keepFinishedMs: 1 }) : keep
}

/** The result of a walk that is done in one go: those of most tests are. */
export function walked<Result>(walk: Walk<Result>): Result {
  const { done, value } = walk.next()
  if (!done) throw new Error('expected a short walk to take no rest')
  return value
}

/** Takes the next job through the gate, as a scheduler with a free handler does, and leaves it running. */
export function start(store: MemoryStore, now: number): JobRecord | undefined {
  const job = store.claim(now)
  if (job !== undefined) store.starts.gate(job, now)
  return job
}

export const COMPLETED: Outcome = { kind: 'completed', result: undefined }

export function retryAt(readyAt: number): Outcome {
  return { kind: 'retry', error: 'as planned', readyAt }
}

/** Runs every job that departs by `until`, each for no time at all; returns which job departed when. */
export function runUntil(store: MemoryStore, until: number): (readonly [string, number])[] {
  const departures: [string, number][] = []
  for (let due = store.nextDeparture(); due <= until; due = store.nextDeparture()) {
    const job = start(store, due)
    if (job === undefined) throw new Error('a departure was due and no job departed')
    departures.push([job.id, due / SECOND])
    store.finish(job, COMPLETED, due)
  }
  return departures
}
