import { rejected } from '../../core/admission.ts'
import { nextSlot } from '../../core/bucket.ts'
import { nameOfQuota } from '../../core/quota-input.ts'
import { judgeUnder } from '../../core/total-verdict.ts'
import * as verdicts from '../../core/verdict.ts'
import type { MemoryBucket } from './memory-bucket.ts'

type Refused = Extract<verdicts.Verdict, { accepted: false }>

/** The verdict of the limit of the bucket, and of the totals above it. */
export function judge(bucket: MemoryBucket, request: verdicts.AdmitRequest, now: number): verdicts.Verdict {
  const { member, limit, retries } = bucket
  const own = verdicts.judge(bucket, request, now, bucket.line(now), retries, bucket.jobs)
  if (member === undefined) return own
  const line = { bucket: member, limit, slot: nextSlot(bucket, now), hasRetries: retries !== undefined }
  return judgeUnder(line, own, request, now)
}

/** A refusal, as its producer gets it. */
export function rejectedBy(
  bucket: MemoryBucket,
  { reason, retryAt, isEstimate, exceeded, at }: Refused,
  now: number,
) {
  const { key } = bucket
  const { waiting, limit } = at?.bucket ?? bucket
  const quota = exceeded && { quota: nameOfQuota(exceeded) }
  const refusal = { retryAt, waiting, capacity: limit.capacity, isEstimate, at: at?.path, ...quota }
  return rejected(key, reason, refusal, now)
}
