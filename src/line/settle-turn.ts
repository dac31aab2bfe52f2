import { toError } from '../core/thrown.ts'
import type { Costs } from '../core/usage.ts'
import type { Awaitable } from './awaitable.ts'
import type { Turn } from './turn.ts'

/** What a call really counted, such as `{ tokens: 812 }`, or undefined where its estimate stands. */
export type FoundAmounts = Awaitable<Costs | undefined>

/**
 * Settles a turn with what its call is found to have counted. Never rejects: the call was made, so that its result must
 * not be lost. Where something fails, `report` gets the error and the estimate stands.
 */
export async function settleTurn(
  turn: Pick<Turn, 'settle'>,
  find: () => FoundAmounts,
  report: (error: Error) => void,
): Promise<void> {
  try {
    const amounts = await find()
    if (amounts !== undefined) await turn.settle(amounts)
  } catch (error) {
    report(toError(error))
  }
}
