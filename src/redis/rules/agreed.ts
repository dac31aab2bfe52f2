import { BackendUnavailableError } from '../../core/errors.ts'

/** The limit on retries while other processes keep changing the rule book. */
export const MOST_TRIES = 20

interface OldBook {
  readonly kind: 'old-book'
  readonly version: number
}

/**
 * Makes a call that a shard refuses if it has another version of the rule book. Then the older of the two books is updated
 * and the call is made again.
 *
 * @throws BackendUnavailableError when other processes keep changing the rule book
 */
export async function agreed<Reply extends { readonly kind: string }>(
  rules: { settle(shard: number, theirs: number): Promise<void> },
  shard: number,
  call: () => Promise<Reply | OldBook>,
): Promise<Exclude<Reply, OldBook>> {
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const reply = await call()
    if (!isOldBook(reply)) return reply as Exclude<Reply, OldBook>
    await rules.settle(shard, reply.version)
  }
  throw unsettled()
}

function isOldBook(reply: { readonly kind: string }): reply is OldBook {
  return reply.kind === 'old-book'
}

export function unsettled(): BackendUnavailableError {
  return new BackendUnavailableError(`other processes changed the rule book ${MOST_TRIES} times in a row`)
}
