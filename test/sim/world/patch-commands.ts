import { createRequire } from 'node:module'

interface Definition {
  readonly lua: string
  readonly numberOfKeys?: number
  readonly readOnly?: boolean
}

/** As much of a client as a definition reads and writes. */
interface Defined {
  readonly options: { readonly keyPrefix?: string }
  readonly scriptsSet: Record<string, unknown>
  [name: string]: unknown
}

type Define = (this: Defined, name: string, definition: Definition) => void

interface Known extends Definition {
  readonly keyPrefix: string | undefined
  readonly defined: Defined
}

/**
 * BullMQ defines all its scripts as commands of each of its connections, which took a fiftieth of the time of a run. What it
 * defines is the same each time, and asks the client that calls it for all else: it is made once.
 */
export function patchCommands(): void {
  // Loaded here, when all else is in its place, because it may keep what it finds.
  const { Redis } = createRequire(import.meta.url)('ioredis')
  const prototype: { defineCommand: Define } = Redis.prototype
  const define = prototype.defineCommand
  const known = new Map<string, Known>()
  prototype.defineCommand = function (name, definition) {
    const { lua, numberOfKeys, readOnly } = definition
    const { keyPrefix } = this.options
    let made = known.get(name)
    const isSame =
      made?.lua === lua &&
      made.numberOfKeys === numberOfKeys &&
      made.readOnly === readOnly &&
      made.keyPrefix === keyPrefix
    if (made === undefined || !isSame) {
      const defined: Defined = { options: this.options, scriptsSet: {} }
      define.call(defined, name, definition)
      made = { ...definition, keyPrefix, defined }
      known.set(name, made)
    }
    this.scriptsSet[name] = made.defined.scriptsSet[name]
    this[name] = made.defined[name]
    this[`${name}Buffer`] = made.defined[`${name}Buffer`]
  }
}
