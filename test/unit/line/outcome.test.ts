import { describe, expect, test } from 'vitest'
import { MILLISECOND, SECOND } from '../../../src/core/duration.ts'
import { FinalError, FreezeError } from '../../../src/core/handler-errors.ts'
import type { WorkerJob } from '../../../src/line/job.ts'
import { outcomeOf } from '../../../src/line/outcome.ts'
import { request } from '../../support/memory-store.ts'

const { settings } = request()

function jobAt(attempt: number, backoff: WorkerJob['settings']['backoff'] = settings.backoff): WorkerJob {
  return {
    ...request(),
    id: 'x',
    attempt,
    fence: 1,
    crashes: 0,
    admittedAt: 0,
    settings: { ...settings, backoff },
  }
}

function ended(settled: Parameters<typeof outcomeOf>[0], job = jobAt(1), mayRetry = true) {
  const messages: string[] = []
  const outcome = outcomeOf(settled, job, { mayRetry, maxFreezeMs: 60_000 }, () => 0.5, {
    fail: ({ message }) => void messages.push(message),
  })
  return { outcome, messages }
}

const failure = { ok: false, error: new Error('no') } as const

describe('a handler that resolved', () => {
  test('has completed its job, and the result is kept as JSON', () => {
    expect(ended({ ok: true, value: { a: 1, b: undefined } })).toEqual({
      outcome: { kind: 'completed', result: '{"a":1}' },
      messages: [],
    })
    expect(ended({ ok: true, value: undefined }).outcome).toEqual({ kind: 'completed', result: undefined })
  })

  test('completes the job even if the result is not JSON, and reports the error', () => {
    expect(ended({ ok: true, value: 1n })).toEqual({
      outcome: { kind: 'completed', result: undefined },
      messages: [expect.stringMatching(/BigInt/)],
    })
  })
})

test('a result above 1 MiB is reported and not kept; one of 1 MiB is kept', () => {
  const { outcome, messages } = ended({ ok: true, value: 'ä'.repeat(524_288) })
  expect(outcome).toEqual({ kind: 'completed', result: undefined })
  expect(messages).toEqual(['expected a result of at most 1048576 bytes as JSON, got: 1048578'])
  expect(ended({ ok: true, value: 'x'.repeat(1_048_574) }).messages).toEqual([])
})

test('of the text of an error 4,096 characters are kept', () => {
  const keptOf = (text: string) => {
    const { outcome } = ended({ ok: false, error: new Error(text) })
    return outcome.kind === 'retry' ? outcome.error : undefined
  }
  expect(keptOf('x'.repeat(4_096))).toBe('x'.repeat(4_096))
  expect(keptOf('x'.repeat(5_000_000))).toBe(`${'x'.repeat(4_095)}…`)
  expect(keptOf('🚦'.repeat(4_000))).toBe(`${'🚦'.repeat(2_047)}…`)
})

describe('a handler that threw', () => {
  test('has its job tried again while attempts are left', () => {
    expect(ended(failure, jobAt(2)).outcome).toEqual({ kind: 'retry', error: 'no', delay: SECOND })
    expect(ended(failure, jobAt(3)).outcome).toEqual({ kind: 'failed', error: 'no' })
    expect(ended(failure, jobAt(4)).outcome).toEqual({ kind: 'failed', error: 'no' })
  })

  test('fails the job when it may not be tried again', () => {
    expect(ended(failure, jobAt(1), false).outcome).toEqual({ kind: 'failed', error: 'no' })
  })

  test('has the delay of its attempt, less the part that is left to chance', () => {
    const backoff = { type: 'exponential', delayMs: 100, maxDelayMs: 60_000, jitter: 0.5 } as const
    expect(ended(failure, jobAt(2, backoff)).outcome).toMatchObject({ delay: 150 * MILLISECOND })
  })

  test('a FinalError has failed its job, though attempts are left', () => {
    expect(ended({ ok: false, error: new FinalError('never') }).outcome).toEqual({
      kind: 'failed',
      error: 'never',
    })
    const ofAnotherCopy = Object.assign(new Error('never'), { name: 'FinalError', code: 'final' })
    expect(ended({ ok: false, error: ofAnotherCopy }).outcome).toMatchObject({ kind: 'failed' })
    const unreadable = new Proxy(new Error('no'), {
      has: () => {
        throw new Error('not for you')
      },
    })
    expect(ended({ ok: false, error: unreadable }).outcome).toMatchObject({ kind: 'retry' })
  })

  test('a FreezeError has frozen its bucket, even with the last attempt and a worker that is given up', () => {
    const frozen = { kind: 'freeze', duration: 250 * MILLISECOND }
    expect(ended({ ok: false, error: new FreezeError({ forMs: 250 }) }, jobAt(3), false).outcome).toEqual(
      frozen,
    )
    const ofAnotherCopy = Object.assign(new Error('later'), {
      name: 'FreezeError',
      code: 'freeze',
      forMs: 250,
    })
    expect(ended({ ok: false, error: ofAnotherCopy }).outcome).toEqual(frozen)
  })

  test('a FreezeError for longer than its worker allows has frozen its bucket for that', () => {
    expect(ended({ ok: false, error: new FreezeError({ forMs: 86_400_000 }) }).outcome).toEqual({
      kind: 'freeze',
      duration: 60_000 * MILLISECOND,
      askedMs: 86_400_000,
    })
  })

  test.each<[unknown]>([[-1], ['250'], [Number.NaN], [undefined]])(
    'a freeze for %j makes no sense and is a failure',
    (forMs) => {
      const error = Object.assign(new Error('later'), { name: 'FreezeError', code: 'freeze', forMs })
      expect(ended({ ok: false, error }, jobAt(3)).outcome).toEqual({ kind: 'failed', error: 'later' })
    },
  )
})
