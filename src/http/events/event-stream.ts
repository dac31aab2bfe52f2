import type { Listener } from './audience.ts'
import type { EventFeed } from './event-feed.ts'
import type { Asked } from './stream-query.ts'

const BACKLOG = 1_048_576
const RETRY_MS = 3_000

interface StreamOwner {
  readonly asked: Asked
  readonly isWelcome: () => boolean
  /** What it is told before anything else. */
  readonly first: string
  /** Cuts its connection; absent where that cannot be done from here. */
  readonly cut?: () => void
}

/**
 * One client's server-sent events. What it has not read yet is bounded: who falls behind by a megabyte is cut off, and
 * may come back with `Last-Event-ID`.
 */
export function openStream(
  feed: EventFeed,
  { asked, isWelcome, first, cut }: StreamOwner,
  lastId: string | undefined,
): ReadableStream<Uint8Array> {
  let listener: Listener | undefined
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const encoder = new TextEncoder()
        const joined: Listener = {
          ...asked,
          isWelcome,
          write(text) {
            const chunk = encoder.encode(text)
            if ((controller.desiredSize ?? 0) >= chunk.byteLength) {
              controller.enqueue(chunk)
              return
            }
            feed.leave(joined)
            // Either way what is waiting to be read is dropped, as it would not be by an end.
            if (cut === undefined) controller.error(new Error('the client reads too slowly'))
            else cut()
          },
          end: () => controller.close(),
        }
        listener = joined
        joined.write(`retry: ${RETRY_MS}\n\n${first}`)
        feed.join(joined, lastId)
      },
      cancel() {
        if (listener !== undefined) feed.leave(listener)
      },
    },
    { highWaterMark: BACKLOG, size: (chunk) => chunk.byteLength },
  )
}
