import { hasEveryRight } from './rights.ts'
import type { Call, RouteContext } from './route.ts'

/**
 * For what an operator does to a key, or a pattern: pauses, freezes and limits. Where the memory is short for all, there is no room.
 * The share of the first segment counts only for what would be new: a tenant with too much is just the one to be stopped. So it
 * counts neither for a bucket that is live nor for tokens of the operator.
 *
 * @throws Problem 503, or 429 where only the share of this segment is exhausted
 */
export async function assertRoomToAct(
  { overload, shaper }: Pick<RouteContext, 'overload' | 'shaper'>,
  { principal, subject: key }: Pick<Call, 'principal' | 'subject'>,
): Promise<void> {
  if (hasEveryRight(principal)) {
    overload.assertRoom()
    return
  }
  const refusal = overload.shareRefusal(key)
  if (refusal !== undefined && (await shaper.inspect(key)) === undefined) throw refusal
}
