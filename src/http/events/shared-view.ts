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
  /** Each name by itself. Default: all of them together. */
  readonly isApart?: true
}

/**
 * A view that is told again and again while somebody wants it: looked for once a period for all who ask for the same.
 * One that takes longer than its period is not looked for twice at once.
 */
export class SharedView implements Source {
  readonly types: readonly EventType[]
  readonly #options: SharedViewOptions
  readonly #audience: Audience
  #timer: NodeJS.Timeout | undefined
  /** Names that are being looked for. */
  readonly #looking = new Set<string>()

  constructor(audience: Audience, options: SharedViewOptions) {
    this.types = [options.type]
    this.#audience = audience
    this.#options = options
  }

  start(): void {
    this.#timer ??= setInterval(() => this.#tick(), this.#options.everyMs).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #tick(): void {
    const { type, nameOf, isApart } = this.#options
    const wanted = [...this.#audience.groups(type, nameOf)].filter(([name]) => !this.#looking.has(name))
    if (wanted.length === 0) return
    const rounds = isApart ? wanted.map((group) => [group]) : [wanted]
    for (const round of rounds) void this.#look(new Map(round))
  }

  async #look(groups: ReadonlyMap<string, Asked>): Promise<void> {
    for (const name of groups.keys()) this.#looking.add(name)
    const { type, nameOf, look } = this.#options
    try {
      const views = await look(groups)
      const texts = new Map([...views].map(([name, view]) => [name, eventText(type, view)]))
      this.#audience.tell(type, (listener) => texts.get(nameOf(listener)))
    } catch {
      // A line that cannot be reached is told by /readyz.
    } finally {
      for (const name of groups.keys()) this.#looking.delete(name)
    }
  }
}

/** Looks for each by itself, so that one that takes long, or cannot be had, keeps nobody waiting. */
export function apart(
  look: (asked: Asked) => Promise<object | undefined>,
): Pick<SharedViewOptions, 'look' | 'isApart'> {
  return {
    isApart: true,
    async look(groups) {
      const views = new Map<string, object>()
      for (const [name, asked] of groups) {
        const view = await look(asked)
        if (view !== undefined) views.set(name, view)
      }
      return views
    },
  }
}
