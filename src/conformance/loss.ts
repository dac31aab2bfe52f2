import { quote } from '../core/describe.ts'
import type { AnswerEvent, EndEvent, HistoryEvent, ReturnEvent, StartEvent } from './history.ts'
import { inLine, isLive, isRunning, type JobRecord, type JobState } from './job-record.ts'
import { instant, type OpenCheck } from './law.ts'

/**
 * L5: nothing lost, nothing twice without a reason. Every accepted job reaches exactly one end. No job starts that was
 * not accepted, has ended, or is running unless a fault hit it. A retry is the next attempt; after a freeze or a fault
 * the same attempt starts again.
 */
export const loss: OpenCheck = (ledger, options, report) => {
  let last = 0
  return {
    see(event) {
      last = event.at
      const wrong = judge(event, 'id' in event ? ledger.job(event.id) : undefined)
      if (wrong === undefined || !('id' in event)) return
      const { at, id } = event
      const key = 'key' in event ? event.key : ledger.job(id)?.key
      const where = key === undefined ? '' : `key ${quote(key)}: `
      report({ law: 'L5', at, key, id, message: `${where}job ${quote(id)} ${wrong}` })
    },
    finish() {
      if (options.unfinished === true) return
      for (const job of ledger.accepted) {
        if (!isLive(job)) continue
        const { key, id, answeredAt } = job
        const message =
          `key ${quote(key)}: job ${quote(id)}, accepted at ${instant(answeredAt)}, has no end: it is ` +
          `${STATE_TEXT[job.state]} at ${instant(last)}, expected one end`
        report({ law: 'L5', at: last, key, id, message })
      }
    },
  }
}

const STATE_TEXT: Readonly<Record<JobState, string>> = {
  waiting: 'waiting in line',
  returned: 'waiting for a retry',
  running: 'running',
  interrupted: 'interrupted by a fault',
  ended: 'ended',
  rejected: 'rejected',
}

/** Describes what is wrong with an event; `job` is what was known of its job before. */
function judge(event: HistoryEvent, job: JobRecord | undefined): string | undefined {
  switch (event.type) {
    case 'answer':
      return judgeAnswer(event, job)
    case 'start':
      return judgeStart(event, job)
    case 'return':
      return judgeReturn(event, job)
    case 'end':
      return judgeEnd(event, job)
    default:
      return undefined
  }
}

function judgeAnswer(event: AnswerEvent, job: JobRecord | undefined): string | undefined {
  if (!event.accepted || job === undefined || !job.accepted || !isLive(job)) return undefined
  return (
    `was accepted at ${instant(event.at)} while it was ${STATE_TEXT[job.state]}, ` +
    `accepted at ${instant(job.answeredAt)} before, expected one acceptance`
  )
}

function judgeStart(event: StartEvent, job: JobRecord | undefined): string | undefined {
  const started = `started at ${instant(event.at)}`
  if (job === undefined) return `${started} though it was never accepted, expected no start`
  if (job.state === 'rejected') {
    return `${started} though it was rejected at ${instant(job.answeredAt)}, expected no start`
  }
  if (job.state === 'ended') return `${started} after its end, expected no start`
  if (job.starts >= job.startsAllowed) {
    return (
      `${started} while it was running: start ${job.starts + 1} of attempt ${job.attempt}, ` +
      `expected at most ${job.startsAllowed}`
    )
  }
  if (event.attempt === job.attempt) return undefined
  return `${started} as attempt ${event.attempt}, expected attempt ${job.attempt}`
}

function judgeReturn(event: ReturnEvent, job: JobRecord | undefined): string | undefined {
  if (job !== undefined && isRunning(job)) return undefined
  return `was returned to its line (${event.reason}) at ${instant(event.at)} while it was ${nameState(job)}, expected running`
}

function judgeEnd(event: EndEvent, job: JobRecord | undefined): string | undefined {
  const ranToItsEnd = event.outcome === 'completed' || event.outcome === 'failed'
  const fits =
    job !== undefined && (ranToItsEnd ? isRunning(job) : inLine(job) || job.state === 'interrupted')
  if (fits) return undefined
  const expected = ranToItsEnd ? 'running' : 'waiting'
  return `${OUTCOME_TEXT[event.outcome]} at ${instant(event.at)} while it was ${nameState(job)}, expected ${expected}`
}

const OUTCOME_TEXT: Readonly<Record<EndEvent['outcome'], string>> = {
  completed: 'completed',
  failed: 'failed',
  cancelled: 'was cancelled',
  expired: 'expired',
}

function nameState(job: JobRecord | undefined): string {
  return job === undefined ? 'unknown' : STATE_TEXT[job.state]
}
