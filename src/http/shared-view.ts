import type { Audience, Source } from './audience.ts'
import { eventText } from './audience.ts'
import type { Asked, EventType } from './stream-query.ts'

interface SharedViewOptions {
  readonly type: EventType
  readonly everyMs: number
  /** A name for what is asked for: who has the same is told the same. */
  readonly nameOf: (asked: Asked) => string
  /** Looks for each name at once. A name that is missing in the answer is told nothing this time. */
  readonly look: (groups: ReadonlyMap<string, Asked>) => Promise<ReadonlyMap<string, object>>
}

/**
 * A view that is told again and again while somebody wants it: looked for once a period for all who ask for the same.
 * One that takes longer than its period makes the next ones wait, and is never looked for twice at once.
 */
export class SharedView implements Source {
  readonly types: readonly EventType[]
  readonly #options: SharedViewOptions
  readonly #audience: Audience
  #timer: NodeJS.Timeout | undefined
  #isLooking = false

  constructor(audience: Audience, options: SharedViewOptions) {
    this.types = [options.type]
    this.#audience = audience
    this.#options = options
  }

  start(): void {
    this.#timer ??= setInterval(() => void this.#tick(), this.#options.everyMs).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  async #tick(): Promise<void> {
    if (this.#isLooking) return
    this.#isLooking = true
    const { type, nameOf, look } = this.#options
    try {
      const views = await look(this.#audience.groups(type, nameOf))
      const texts = new Map([...views].map(([name, view]) => [name, eventText(type, view)]))
      this.#audience.tell(type, (listener) => texts.get(nameOf(listener)))
    } catch {
      // A line that cannot be reached is told by /readyz.
    } finally {
      this.#isLooking = false
    }
  }
}

/** Looks for one after the other; one that cannot be had keeps nobody from the next. */
export function oneByOne(look: (asked: Asked) => Promise<object | undefined>): SharedViewOptions['look'] {
  return async (groups) => {
    const views = new Map<string, object>()
    for (const [name, asked] of groups) {
      const view = await look(asked).catch(() => undefined)
      if (view !== undefined) views.set(name, view)
    }
    return views
  }
}
