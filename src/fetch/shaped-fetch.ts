import { parseOptions } from '../core/options.ts'
import type { Turn } from '../line/turn.ts'
import { readCopy } from './answer-copy.ts'
import { type FetchOptions, fetchOptionsSchema } from './options.ts'
import { checkInput, type FetchInit, type FetchInput, isRequest, readFetch } from './outgoing-request.ts'
import { type RequestTurn, RequestTurns, type TurnGiver } from './request-turns.ts'

interface Answer {
  readonly status: number
  readonly headers: { get(name: string): string | null }
  readonly body?: unknown
  clone?(): { readonly body?: unknown }
}

/** A function with the signature of `fetch`, of any implementation. */
export type AnyFetch = (input: never, init: never) => Promise<Answer>

/**
 * Returns a `fetch` whose requests wait their turn in the line of their key, together with all other jobs of the key,
 * and which freezes the key if a response asks for it: 429, 503 or 529, for as long as its `Retry-After` or `RateLimit`
 * says, otherwise longer each time. The response is returned, or with `attempts` the request is sent again, in a new
 * turn at the end of the line; if there is none, the response is returned after all.
 *
 * Redirects that fetch follows do not wait for a turn: use `redirect: 'manual'`, or `turnInterceptor`, where each takes
 * its own.
 *
 * The rate applies to the moment at which a request is passed to `fetch`: one that first has to open a connection
 * arrives a handshake later, and may come close to the next.
 *
 * If the key is the host, as by default, a URL without one (`data:`, `blob:`, `file:`, `about:`) goes to `fetch` at
 * once.
 *
 * It rejects as `acquire` does (TurnRefusedError if the line is full: nothing was sent), with the signal's reason, and
 * as `fetch` does; and with an InvalidOptionsError for values that cannot be an address, such as null.
 *
 * @throws InvalidOptionsError or InvalidKeyError
 */
export function shapedFetch<Fetch extends AnyFetch = typeof fetch>(
  shaper: TurnGiver,
  options: FetchOptions<Fetch> = {},
): Fetch {
  const { attempts, fetch: send, ...settings } = parseOptions(fetchOptionsSchema, options, 'shapedFetch')
  const turns = new RequestTurns(shaper, settings)

  const shaped = async (input: FetchInput, init?: FetchInit): Promise<Answer> => {
    checkInput(input)
    const turn = turns.turnOf(() => readFetch(input, init))
    // Without a host no API is called. The key from a function is checked like any other.
    if (turn.key === '' && settings.key === undefined) return send(input as never, init as never)
    const signal = signalOf(input, init)
    let departed: Turn | undefined = await turns.wait(turn, signal)
    let sent = input
    for (let left = attempts - 1; ; left--) {
      const spare = left > 0 ? spareOf(sent, init) : undefined
      const answer: Answer = await answerIn(turns, departed, () => send(sent as never, init as never))
      const isFrozen = await turns.observe(turn.key, answer.status, (name) => answer.headers.get(name))
      // The response is kept meanwhile: without another turn it is returned.
      departed = isFrozen && spare !== undefined ? await nextTurn(turn, signal, answer) : undefined
      if (departed === undefined || spare === undefined) {
        if (spare !== sent) discard(spare)
        return answer
      }
      discard(answer)
      sent = spare
    }
  }

  const nextTurn = async (
    turn: RequestTurn,
    signal: AbortSignal | undefined,
    answer: Answer,
  ): Promise<Turn | undefined> => {
    try {
      return await turns.wait(turn, signal)
    } catch (error) {
      if (!signal?.aborted) return undefined
      discard(answer)
      throw error
    }
  }
  return shaped as AnyFetch as Fetch
}

/** The turn holds its place until the response begins, or until it is settled with what the response says. */
async function answerIn(turns: RequestTurns, turn: Turn, send: () => Promise<Answer>): Promise<Answer> {
  let settled: Promise<void> | undefined
  try {
    const answer = await send()
    const { status, headers } = answer
    settled = turns.settle(turn, { status, headers, read: () => readCopy(answer) })
    return answer
  } finally {
    if (settled === undefined) await turn.release()
    // The response is not kept back meanwhile.
    else void settled.then(() => turn.release())
  }
}

/** A signal of another implementation cannot be observed here; fetch checks it. */
function signalOf(input: FetchInput, init: FetchInit | undefined): AbortSignal | undefined {
  const own = isRequest(input) ? input.signal : undefined
  const signal = init?.signal === undefined ? own : init.signal
  return signal instanceof AbortSignal ? signal : undefined
}

/** Returns a copy to send again; undefined if the body can be read only once. */
function spareOf(input: FetchInput, init: FetchInit | undefined): FetchInput | undefined {
  const body = init?.body ?? undefined
  if (body !== undefined) return isStream(body) ? undefined : input
  return isRequest(input) && (input.body ?? null) !== null ? input.clone() : input
}

function isStream(body: unknown): boolean {
  return typeof body === 'object' && body !== null && (Symbol.asyncIterator in body || 'getReader' in body)
}

/** Discards an unread body, so that its connection is released. */
function discard(holder: FetchInput | Answer | undefined): void {
  const body = typeof holder === 'object' && 'body' in holder ? holder.body : undefined
  if (body instanceof ReadableStream) void body.cancel().catch(() => undefined)
}
