import { MILLISECOND, SECOND } from '../../core/duration.ts'
import { OldRuleBookError } from '../../core/rule-errors.ts'
import type { Layer } from '../../core/rule-layers.ts'
import type { BaseOrigin } from '../../core/rule-view.ts'
import { digest, isFormer, type StoredBook } from './stored-book.ts'

/**
 * How long a layer may differ from the book before the difference is reported. Processes that follow the same file read a
 * change up to 5 s apart where the file system has no notifications; without this delay, a process would report a layer that
 * it is about to load itself.
 */
const GRACE = 6 * SECOND

interface Own {
  readonly layer: Layer
  readonly digest: string
  /** When the book was first seen with another layer in its place; undefined while it is in force. */
  replacedAt?: number
  /** Whether its replacement was reported. It is reported once, until the layer is in force again. */
  isReported: boolean
}

/**
 * The layers that this process has set in the rule book: those it was started with, and those loaded since. Other processes
 * may replace them; this process never restores them by itself.
 */
export class OwnLayers {
  readonly #own = new Map<BaseOrigin, Own>()
  /** The version of the book that was compared last. */
  #seen: number | undefined

  constructor(layers: readonly Layer[]) {
    for (const layer of layers) this.set(layer)
  }

  get all(): Layer[] {
    return [...this.#own.values()].map(({ layer }) => layer)
  }

  /** The layers whose replacement was not reported. */
  get kept(): Layer[] {
    return [...this.#own.values()].flatMap(({ layer, isReported }) => (isReported ? [] : [layer]))
  }

  /** Adds or replaces a layer. An empty one is dropped: a process without limits, such as a worker, does not delete others. */
  set(layer: Layer): void {
    this.#seen = undefined
    if (layer.rules.length === 0) this.#own.delete(layer.origin)
    else this.#own.set(layer.origin, { layer, digest: digest(layer.rules), isReported: false })
  }

  /** Returns the layers that were replaced before this process opened the line; they count as reported. */
  former(book: StoredBook): Layer[] {
    const former = [...this.#own.values()].filter(({ layer }) => isFormer(book, layer))
    for (const own of former) own.isReported = true
    return former.map(({ layer }) => layer)
  }

  /** Returns the layers that were replaced since, longer ago than `GRACE`; each is returned once. */
  replaced(book: StoredBook, now: number): Layer[] {
    if (book.version !== this.#seen) this.#compare(book, now)
    this.#seen = book.version
    return [...this.#own.values()].flatMap((own) => {
      const { replacedAt, isReported, layer } = own
      if (isReported || replacedAt === undefined || now - replacedAt < GRACE) return []
      own.isReported = true
      return [layer]
    })
  }

  #compare({ layers }: StoredBook, now: number): void {
    for (const own of this.#own.values()) {
      if (digest(layers[own.layer.origin]) !== own.digest) {
        own.replacedAt ??= now
      } else {
        own.replacedAt = undefined
        own.isReported = false
      }
    }
  }
}

const NEWER = { code: 'newer code', file: 'a newer file', environment: 'a newer environment' } as const

/** Says which layers replaced one of this process, who set them, and when. */
export function replacedError({ setBy, version }: StoredBook, { origin }: Layer): OldRuleBookError {
  const { by, at } = setBy[origin] ?? {}
  const when = at === undefined ? [] : [new Date(at / MILLISECOND).toISOString()]
  const author = by === undefined ? when : [by, ...when]
  const whose = `those of ${NEWER[origin]}${author.length > 0 ? ` (${author.join(', ')})` : ''}`
  return new OldRuleBookError(
    `the limits of this process were replaced by ${whose}: version ${version} of the rule book is in force; ` +
      'to restore them, load them with limits.load',
  )
}
