import type { WorkerJob } from '../../line/job.ts'
import { idOfName } from '../scripts/job-id.ts'
import { type Answer, number, row, text } from '../scripts/reply.ts'
import { decodeCosts, decodeSettings } from './settings-text.ts'

/** What a reply says of a job that a worker may start, in this order. */
export const GRANTED_JOB = {
  cost: number,
  settings: text,
  data: text,
  admittedAt: number,
  attempt: number,
  fence: number,
  traceparent: text,
} as const

const grantedJobReply = row(GRANTED_JOB)

/** Which job it is, and how many of its starts were cut off, the reply says elsewhere. */
interface Known {
  /** Its name in Redis. */
  readonly name: string
  readonly key: string
  readonly crashes: number
}

/** The job that a worker may start, as `GRANTED_JOB` has read it. */
export function grantedJob({ name, key, crashes }: Known, read: Answer<typeof grantedJobReply>): WorkerJob {
  const { cost, settings, data, admittedAt, attempt, fence, traceparent } = read
  const costs = decodeCosts(settings)
  return {
    id: idOfName(name),
    key,
    data,
    cost,
    ...(costs && { costs }),
    settings: decodeSettings(settings),
    traceparent: traceparent === '' ? undefined : traceparent,
    attempt,
    fence,
    crashes,
    admittedAt,
  }
}
