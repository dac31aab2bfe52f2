import type { Dispatcher } from 'undici'
import { parseOptions } from '../core/options.ts'
import { type TurnOptions, turnOptionsSchema } from './options.ts'
import { readDispatch } from './outgoing-request.ts'
import { RequestTurns, type TurnGiver } from './request-turns.ts'
import { TurnController } from './turn-controller.ts'
import { TurnHandler } from './turn-handler.ts'

/**
 * An interceptor for `dispatcher.compose(...)` of undici 7: each request waits its turn in the line of its key before
 * it is dispatched, and a response of 429, 503 or 529 freezes the key, as with `shapedFetch`.
 *
 * Interceptors composed after it wrap it. So compose `retry` and `redirect` after it: each of their requests then waits
 * for a turn; `cache` too: its hits need none; and `dns` before it, because it replaces host names by addresses.
 *
 * A request without a turn fails as `acquire` does, and nothing was sent. A dispatcher that is closed does not wait for
 * requests in line: they fail in their turn.
 *
 * @throws InvalidOptionsError or InvalidKeyError
 */
export function turnInterceptor(
  shaper: TurnGiver,
  options: TurnOptions = {},
): Dispatcher.DispatcherComposeInterceptor {
  const turns = new RequestTurns(shaper, parseOptions(turnOptionsSchema, options, 'turnInterceptor'))
  return (dispatch) => (request, handler) => {
    void dispatchInTurn(turns, dispatch, request, handler)
    // Accepts more requests at any time: the line has its own bound.
    return true
  }
}

async function dispatchInTurn(
  turns: RequestTurns,
  dispatch: Dispatcher.Dispatch,
  request: Dispatcher.DispatchOptions,
  handler: Dispatcher.DispatchHandler,
): Promise<void> {
  const controller = new TurnController()
  const watch = watchBody(request.body, controller)
  try {
    // The caller can abort only through a controller, so it gets one now that connects later.
    handler.onRequestStart?.(controller, {})
    const turn = turns.turnOf(() => readDispatch(request))
    const departed = await turns.wait(turn, controller.signal)
    try {
      controller.signal.throwIfAborted()
      watch.end()
      dispatch(request, new TurnHandler({ turns, departed, controller, handler }))
    } catch (error) {
      void departed.release()
      throw error
    }
  } catch (error) {
    handler.onResponseError?.(controller, error as Error)
  } finally {
    watch.end()
  }
}

/** No other listener handles an error of the stream yet: it would end the process. */
function watchBody(body: unknown, controller: TurnController): { end(): void } {
  if (!isEmitter(body)) return { end: () => undefined }
  const onError = (error: Error) => controller.abort(error)
  body.on('error', onError)
  return { end: () => void body.off('error', onError) }
}

interface Emitter {
  on(name: 'error', listener: (error: Error) => void): unknown
  off(name: 'error', listener: (error: Error) => void): unknown
}

function isEmitter(body: unknown): body is Emitter {
  return typeof body === 'object' && body !== null && 'on' in body && 'off' in body
}
