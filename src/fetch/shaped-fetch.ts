import { parseOptions } from '../core/options.ts'
import { type FetchOptions, fetchOptionsSchema } from './options.ts'
import { checkInput, type FetchInit, type FetchInput, isRequest, readFetch } from './outgoing-request.ts'
import { type Place, RequestTurns, type TurnGiver } from './request-turns.ts'

interface Answer {
  readonly status: number
  readonly headers: { get(name: string): string | null }
  readonly body?: unknown
}

/** A function with the signature of `fetch`, whoever made it. */
export type AnyFetch = (input: never, init: never) => Promise<Answer>

/**
 * A `fetch` whose requests wait their turn in the line of their key, together with all others who stand there, and which
 * freezes the key when an answer asks for that: 429, 503 or 529, for as long as its `Retry-After` or `RateLimit` says,
 * else for longer each time. The answer is handed on, or with `attempts` the request is sent again, in its new turn at
 * the end of the line; if there is none to be had, the answer is the caller's after all.
 *
 * Redirects that fetch follows are requests that did not wait: use `redirect: 'manual'`, or `turnInterceptor`, where
 * each is one of its own.
 *
 * The rate holds for the moment at which a request is handed to `fetch`: one that has to open a connection first arrives
 * a handshake later, and may come close to the next.
 *
 * Where the key is the host, as by default, a URL without one (`data:`, `blob:`, `file:`, `about:`) goes to `fetch` at once.
 *
 * It rejects as `acquire` does (TurnRefusedError when the line is full: nothing was sent), with the signal's reason, and
 * as `fetch` does; for what cannot be an address, such as null, with an InvalidOptionsError.
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
    const place = turns.place(() => readFetch(input, init))
    // No host: nobody's API. The key that a function answers is checked like any other.
    if (place.key === '' && settings.key === undefined) return send(input as never, init as never)
    const signal = signalOf(input, init)
    await turns.wait(place, signal)
    let sent = input
    for (let left = attempts - 1; ; left--) {
      const spare = left > 0 ? spareOf(sent, init) : undefined
      const answer = await send(sent as never, init as never)
      const isFrozen = await turns.heard(place.key, answer.status, (name) => answer.headers.get(name))
      // Meanwhile the answer is kept: without another turn it is all that there is to hand on.
      const isAgain = isFrozen && spare !== undefined && (await hasTurn(place, signal, answer))
      if (!isAgain) {
        if (spare !== sent) letGo(spare)
        return answer
      }
      letGo(answer)
      sent = spare
    }
  }

  const hasTurn = async (place: Place, signal: AbortSignal | undefined, answer: Answer): Promise<boolean> => {
    try {
      await turns.wait(place, signal)
      return true
    } catch (error) {
      if (!signal?.aborted) return false
      letGo(answer)
      throw error
    }
  }
  return shaped as AnyFetch as Fetch
}

/** One of another make cannot be listened to here; fetch will look at it. */
function signalOf(input: FetchInput, init: FetchInit | undefined): AbortSignal | undefined {
  const own = isRequest(input) ? input.signal : undefined
  const signal = init?.signal === undefined ? own : init.signal
  return signal instanceof AbortSignal ? signal : undefined
}

/** The same to be sent once more; undefined where its body can be read only once. */
function spareOf(input: FetchInput, init: FetchInit | undefined): FetchInput | undefined {
  const body = init?.body ?? undefined
  if (body !== undefined) return isStream(body) ? undefined : input
  return isRequest(input) && (input.body ?? null) !== null ? input.clone() : input
}

function isStream(body: unknown): boolean {
  return typeof body === 'object' && body !== null && (Symbol.asyncIterator in body || 'getReader' in body)
}

/** Nobody will read its body: a connection need not be kept for it. */
function letGo(holder: FetchInput | Answer | undefined): void {
  const body = typeof holder === 'object' && 'body' in holder ? holder.body : undefined
  if (body instanceof ReadableStream) void body.cancel().catch(() => undefined)
}
