import autocannon, { type Result } from 'autocannon'
import { payload } from '../burst.ts'

export interface Load {
  readonly connections: number
  readonly pipelining?: number
  readonly seconds: number
  /** Told the id of each job that was let in. */
  readonly onAccepted?: (id: string) => void
}

/** Clients that ask for admission as fast as they get answers, each for one key after the other. */
export function postJobs(
  url: string,
  keys: readonly string[],
  { seconds, onAccepted, ...load }: Load,
): Promise<Result> {
  return autocannon({
    url,
    ...load,
    duration: seconds,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ data: payload(0) }),
    requests: keys.map((key) => ({
      path: `/v1/buckets/${encodeURIComponent(key)}/jobs`,
      ...(onAccepted && {
        onResponse: (status: number, body: string) => {
          if (status === 202) onAccepted((JSON.parse(body) as { id: string }).id)
        },
      }),
    })),
  })
}

export function countOf({ statusCodeStats }: Result, status: number): number {
  return statusCodeStats[status]?.count ?? 0
}
