/** A Lua value in JavaScript. A string holds one byte in each of its characters. */
export type Value = undefined | boolean | number | string | LuaTable | LuaFunction | LightUserdata

/** No value, one value, or several of them in an array: `undefined` is none, `[undefined]` is one nil. */
export type Result = Value | readonly Value[]

export type LuaFunction = (...args: Value[]) => Result

/** The only one there is: what `cjson` takes and gives for null. */
export class LightUserdata {
  readonly kind = 'userdata'
}
export const NULL = new LightUserdata()

/** One nil as the result of a function. */
export const NIL: readonly Value[] = [undefined]

/**
 * A table: an array part for the keys 1, 2, 3 ..., and a map for all others, which is walked in the order in which keys came.
 * A key that was set to nil keeps its place in the map, so that a walk can go on from it.
 */
export class LuaTable {
  list: Value[]
  map: Map<Value, Value> | undefined = undefined
  meta: LuaTable | undefined = undefined
  isReadOnly = false
  #walk: Walk | undefined = undefined

  constructor(list: Value[] = []) {
    this.list = list
  }

  /** Raw, without metatables. */
  get(key: Value): Value {
    if (typeof key === 'number') {
      const value = this.list[key - 1]
      if (value !== undefined) return value
    }
    return this.map?.get(key)
  }

  /** Raw. The key is neither nil nor NaN. */
  set(key: Value, value: Value): void {
    if (typeof key === 'number' && this.#setInList(key, value)) return
    this.put(key, value)
  }

  /** Sets a key that cannot lie in the array part. */
  put(key: Value, value: Value): void {
    if (this.map === undefined) {
      if (value === undefined) return
      this.map = new Map()
    }
    if (value !== undefined || this.map.has(key)) this.map.set(key, value)
  }

  /** For table constructors: sets a text key, and gives the table back. */
  with(key: string, value: Value): this {
    if (value === undefined) return this
    if (this.map === undefined) this.map = new Map()
    this.map.set(key, value)
    return this
  }

  #setInList(key: number, value: Value): boolean {
    const { list } = this
    const { length } = list
    if (key === length + 1) {
      if (value === undefined) return false
      list.push(value)
      if (this.map !== undefined) this.#pull(key)
      return true
    }
    if (!(key >= 1 && key <= length && Number.isInteger(key))) return false
    list[key - 1] = value
    if (value === undefined && key === length) {
      do list.pop()
      while (list.length > 0 && list[list.length - 1] === undefined)
    }
    return true
  }

  /** The list has grown up to the key: what the map has of it moves over. */
  #pull(key: number): void {
    const map = this.map!
    map.delete(key)
    for (let next = key + 1; map.size > 0; next++) {
      const value = map.get(next)
      if (value === undefined) return
      map.delete(next)
      this.list.push(value)
    }
  }

  /** A border: a key whose value is there and whose successor's is not. */
  get length(): number {
    const { list } = this
    if (list.length === 0 || list[list.length - 1] !== undefined) return list.length
    let low = 0
    let high = list.length
    while (high - low > 1) {
      const middle = (low + high) >> 1
      if (list[middle - 1] === undefined) high = middle
      else low = middle
    }
    return low
  }

  /** The pair after a key; undefined at the end, false when the key is not there. */
  next(key: Value): readonly [Value, Value] | undefined | false {
    if (this.#walk === undefined || this.#walk.key !== key || key === undefined) {
      this.#walk = new Walk(this)
      if (key !== undefined && !this.#walk.seek(key)) return false
    }
    if (this.#walk.step()) return [this.#walk.key, this.#walk.value]
    this.#walk = undefined
    return undefined
  }
}

/** A walk over all pairs of a table, during which pairs may be set to nil. */
export class Walk {
  key: Value = undefined
  value: Value = undefined
  readonly #table: LuaTable
  #index = 0
  #entries: IterableIterator<[Value, Value]> | undefined = undefined

  constructor(table: LuaTable) {
    this.#table = table
  }

  step(): boolean {
    const { list } = this.#table
    while (this.#index < list.length) {
      const value = list[this.#index++]
      if (value === undefined) continue
      this.key = this.#index
      this.value = value
      return true
    }
    if (this.#table.map === undefined) return false
    this.#entries ??= this.#table.map.entries()
    for (;;) {
      const { done, value: entry } = this.#entries.next()
      if (done) return false
      if (entry[1] === undefined) continue
      this.key = entry[0]
      this.value = entry[1]
      return true
    }
  }

  /** Goes to a key, which may have been set to nil since. */
  seek(key: Value): boolean {
    const { list, map } = this.#table
    if (typeof key === 'number' && Number.isInteger(key) && key >= 1 && key <= list.length) {
      this.#index = key
      return true
    }
    if (map === undefined || !map.has(key)) return false
    this.#index = list.length
    this.#entries = map.entries()
    // Breaking off does not end the iterator of a map.
    for (const entry of this.#entries) if (entry[0] === key) break
    return true
  }
}

export function typeName(value: unknown): string {
  if (value === undefined) return 'nil'
  if (value instanceof LightUserdata) return 'userdata'
  return value instanceof LuaTable ? 'table' : typeof value
}
