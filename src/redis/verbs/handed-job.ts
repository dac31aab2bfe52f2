/** One handing over of a job; a later one has a higher epoch and makes this one void. */
export interface HandedJob {
  readonly id: string
  readonly epoch: number
}

/** A job that left its line without a handler: cancelled or expired. */
export interface RemovedJob {
  readonly id: string
  readonly key: string
  readonly cost: number
  readonly attempt: number
  readonly at: number
}

/** How many jobs a call names, and each of them. */
export function jobValues(jobs: readonly HandedJob[]): (string | number)[] {
  return [jobs.length, ...jobs.flatMap(({ id, epoch }) => [id, epoch])]
}
