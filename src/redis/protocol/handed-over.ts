import type { HandedJob } from './shared-backend.ts'

/** A job that was handed to this process. */
export interface HandedOver extends HandedJob {
  readonly key: string
  readonly shard: number
}

/** Tells one handing over from every other; no two jobs can share one, since an epoch holds digits alone. */
export function nameOf({ id, epoch }: HandedJob): string {
  return `${id}_e${epoch}`
}
