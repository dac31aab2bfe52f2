import { SECOND } from '../../core/duration.ts'
import type { Layer } from '../../core/layered-book.ts'
import type { BaseOrigin } from '../../core/rule-view.ts'
import { digest, isFormer, type StoredBook } from './stored-book.ts'

/**
 * How long others may be ahead before it is told. Processes that follow one file read a change of it one after the
 * other, up to 5 s apart where the file system tells nothing; nobody is told of what he is about to say himself.
 */
const GRACE = 6 * SECOND

interface Own {
  readonly layer: Layer
  readonly digest: string
  /** Since when the book has had another layer in its place; undefined: it is in force. */
  lostAt?: number
  /** Whether somebody was told; it is told once, until it is in force again. */
  isTold: boolean
}

/**
 * The layers that this process brought into the shared book: those that it was started with, or loaded since. They may be
 * replaced by those of others; this process never puts them back by itself.
 */
export class OwnLayers {
  readonly #own = new Map<BaseOrigin, Own>()
  /** The version of the book that was looked at last. */
  #seen: number | undefined

  constructor(brought: readonly Layer[]) {
    for (const layer of brought) this.bring(layer)
  }

  get all(): Layer[] {
    return [...this.#own.values()].map(({ layer }) => layer)
  }

  /** Those of which nobody was told that they were replaced. */
  get kept(): Layer[] {
    return [...this.#own.values()].flatMap(({ layer, isTold }) => (isTold ? [] : [layer]))
  }

  /** Who says nothing of limits, such as a worker, does not say that there are none. */
  bring(layer: Layer): void {
    this.#seen = undefined
    if (layer.rules.length === 0) this.#own.delete(layer.origin)
    else this.#own.set(layer.origin, { layer, digest: digest(layer.rules), isTold: false })
  }

  /** Those that were replaced before this process came; they count as told. */
  former(book: StoredBook): Layer[] {
    const former = [...this.#own.values()].filter(({ layer }) => isFormer(book, layer))
    for (const own of former) own.isTold = true
    return former.map(({ layer }) => layer)
  }

  /** Those that were replaced since, longer ago than the grace; each is answered once. */
  replaced(book: StoredBook, now: number): Layer[] {
    if (book.version !== this.#seen) this.#look(book, now)
    this.#seen = book.version
    return [...this.#own.values()].flatMap((own) => {
      const { lostAt, isTold, layer } = own
      if (isTold || lostAt === undefined || now - lostAt < GRACE) return []
      own.isTold = true
      return [layer]
    })
  }

  #look({ layers }: StoredBook, now: number): void {
    for (const own of this.#own.values()) {
      if (digest(layers[own.layer.origin]) !== own.digest) {
        own.lostAt ??= now
      } else {
        own.lostAt = undefined
        own.isTold = false
      }
    }
  }
}
