import type { EventFeed } from './event-feed.ts'
import type { Subscriber } from './subscribers.ts'
import type { Subscription } from './subscription.ts'

const BACKLOG = 1_048_576
const RETRY_MS = 3_000

interface StreamOwner {
  readonly subscription: Subscription
  readonly isAuthorized: () => boolean
  /** Called once, when the stream has ended. */
  readonly onEnd: () => void
  /** The text with which the stream begins. */
  readonly first: string
  /** Destroys the connection; absent where the app has no access to it. */
  readonly cut?: () => void
  /** Calls back when the connection is closed; absent where the app has no access to it. */
  readonly whenGone?: ((callback: () => void) => void) | undefined
}

/**
 * Opens one client's stream of server-sent events. Unread data is bounded: a client that falls a megabyte behind is
 * disconnected, and may reconnect with `Last-Event-ID`.
 */
export function openStream(
  feed: EventFeed,
  { subscription, isAuthorized, onEnd, first, cut, whenGone }: StreamOwner,
  lastId: string | undefined,
): ReadableStream<Uint8Array> {
  let subscriber: Subscriber | undefined
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const encoder = new TextEncoder()
        const joined: Subscriber = {
          ...subscription,
          isAuthorized,
          onEnd,
          write(text) {
            const chunk = encoder.encode(text)
            if ((controller.desiredSize ?? 0) >= chunk.byteLength) {
              controller.enqueue(chunk)
              return
            }
            feed.remove(joined)
            // Both ways drop the unread data, which a regular end would not.
            if (cut === undefined) controller.error(new Error('the client reads too slowly'))
            else cut()
          },
          end: () => controller.close(),
        }
        subscriber = joined
        joined.write(`retry: ${RETRY_MS}\n\n${first}`)
        feed.add(joined, lastId)
        // A stream behind another answer of its connection is not cancelled when that is closed.
        whenGone?.(() => feed.remove(joined))
      },
      cancel() {
        if (subscriber !== undefined) feed.remove(subscriber)
      },
    },
    { highWaterMark: BACKLOG, size: (chunk) => chunk.byteLength },
  )
}
