import { FreezeError } from '../core/handler-errors.ts'

/** How long a bucket shall be frozen, in milliseconds; `askedMs` where more was asked for than is allowed. */
export interface FreezeRequest {
  readonly forMs: number
  readonly askedMs?: number
}

/** @throws InvalidOptionsError for what is no duration of a freeze */
export function freezeRequest(askedMs: number, atMostMs = Number.POSITIVE_INFINITY): FreezeRequest {
  const { forMs } = new FreezeError({
    forMs: typeof askedMs === 'number' ? Math.min(askedMs, atMostMs) : askedMs,
  })
  return forMs < askedMs ? { forMs, askedMs } : { forMs }
}
