import type { JobRequest } from '../line/job.ts'

/** The request with an instant for its deadline; most have none, and stay the object that they are. */
export function dated(request: JobRequest, now: number): JobRequest {
  const { deadline } = request
  return deadline === Number.POSITIVE_INFINITY ? request : { ...request, deadline: now + deadline }
}
