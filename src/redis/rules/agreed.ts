import { BackendUnavailableError } from '../../core/errors.ts'
import type { LayeredBook } from '../../core/layered-book.ts'

/** The limit on retries while other processes keep changing the rule book. */
export const MOST_TRIES = 20

interface OldBook {
  readonly kind: 'old-book'
  readonly version: number
}

/**
 * Makes a call that a shard refuses if it has another version of the rule book. Then the older of the two books is updated
 * and the call is made again. Returns the answer, and the book that it was asked with: this process may have another one by then.
 *
 * @throws BackendUnavailableError when other processes keep changing the rule book
 */
export async function agreed<Reply extends { readonly kind: string }>(
  rules: { readonly book: LayeredBook; settle(shard: number, theirs: number): Promise<void> },
  shard: number,
  call: (book: LayeredBook) => Promise<Reply | OldBook>,
): Promise<{ readonly found: Exclude<Reply, OldBook>; readonly book: LayeredBook }> {
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const { book } = rules
    const found = await call(book)
    if (!isOldBook(found)) return { found: found as Exclude<Reply, OldBook>, book }
    await rules.settle(shard, found.version)
  }
  throw unsettled()
}

function isOldBook(reply: { readonly kind: string }): reply is OldBook {
  return reply.kind === 'old-book'
}

export function unsettled(): BackendUnavailableError {
  return new BackendUnavailableError(`other processes changed the rule book ${MOST_TRIES} times in a row`)
}
