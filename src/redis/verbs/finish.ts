import type { HandlerOutcome } from '../../line/outcome.ts'
import { type Answer, list, number, numberAndMore, rest, row } from '../scripts/reply.ts'
import { defineScript } from '../scripts/script.ts'
import type { Store } from '../scripts/store.ts'
import type { HandedJob } from './handed-job.ts'
import { reportAll } from './report-all.ts'

/** What stands behind an answer where the run of the bucket is to stop. */
const STOP = 'stop'

/**
 * The script answers a job whose lease was lost with 0, one that waits again with its time, one that had ended already with that
 * time below zero, and any other with 1. Behind it may stand what a turn was charged, that the run of the job is to stop, or, where the
 * report of a freeze comes again, when it was carried out.
 */
const reply = list(row({ at: number, answers: rest(numberAndMore) }))
const script = defineScript('finish', import.meta.url, reply)

export interface FinishReport extends HandedJob {
  /** When its handler started, if that was not reported yet. */
  readonly startedAt?: number
  readonly outcome: FinishOutcome
}

export type FinishOutcome =
  | Exclude<HandlerOutcome, { kind: 'freeze' }>
  /** The bucket is frozen for `duration`, which may be 0: then nothing is frozen. The attempt is given back. */
  | { readonly kind: 'freeze'; readonly duration: number }
  /** It did not start: to the head of its line. */
  | {
      readonly kind: 'back'
      readonly worker: string
      /** How long its bucket stays in its line at least; microseconds. Default: 0. */
      readonly delay?: number
    }

/** `isMine` false: the lease was lost and nothing was changed. */
export interface FinishAnswer {
  readonly isMine: boolean
  /** When it was carried out, also where a report is answered again. */
  readonly at: number
  /** When a job that waits again may depart. */
  readonly readyAt?: number
  /** No further job of its bucket is to start without asking for its slot. */
  readonly stops?: boolean
  /** What a turn was charged in named units, as `settle` takes it; absent: nothing. */
  readonly charged?: string
}

/** running (or handed with a slot, when the report has its start) -> completed | failed | retrying; or back to its line. */
export function finishVerb(store: Store, keep: string) {
  const finish = async (shard: number, reports: readonly FinishReport[], now?: number) => {
    const values = reports.flatMap(({ id, epoch, startedAt, outcome }) => [
      id,
      epoch,
      startedAt ?? '',
      ...outcomeValues(outcome),
    ])
    const call = [now ?? '', keep, reports.length, ...values]
    const { at, answers } = await store.run(script, shard, call)
    return answers.map((answer, index) => answerOf(reports[index]!.outcome, answer, at))
  }
  return (shard: number, reports: readonly FinishReport[], now?: number): Promise<FinishAnswer[]> =>
    reportAll(reports, (some) => finish(shard, some, now))
}

/** What the store has said of a report with that outcome, at that time. */
function answerOf(
  outcome: FinishOutcome,
  { value, more }: Answer<typeof numberAndMore>,
  at: number,
): FinishAnswer {
  if (more === STOP) return { ...answerOf(outcome, { value, more: undefined }, at), stops: true }
  if (value > 1) {
    const doneAt = outcome.kind === 'retry' ? value - outcome.delay : Number(more ?? at)
    return { isMine: true, at: doneAt, readyAt: value }
  }
  const charged = more === undefined ? {} : { charged: more }
  return { isMine: value !== 0, at: value < 0 ? -value : at, ...charged }
}

/** Its name, its text, whether it has one, and its delay. */
function outcomeValues(outcome: FinishOutcome): (string | number)[] {
  switch (outcome.kind) {
    case 'completed':
      return ['completed', outcome.result ?? '', outcome.result === undefined ? '0' : '1', '']
    case 'failed':
      return ['failed', outcome.error, '1', '']
    case 'retry':
      return ['retry', outcome.error, '1', outcome.delay]
    case 'freeze':
      return ['freeze', '', '0', outcome.duration]
    case 'back':
      return ['back', outcome.worker, '1', outcome.delay ?? 0]
  }
}
