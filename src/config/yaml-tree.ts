import { type Alias, isAlias, isMap, isScalar, isSeq, type Node, type Pair, type YAMLMap } from 'yaml'
import { quote } from '../core/describe.ts'

/** A problem in a text. */
export interface Fault {
  /** Offset in the text, in characters. */
  readonly offset: number
  readonly message: string
}

/** More copied values than any configuration needs; nested aliases could otherwise fill the memory. */
const MOST_COPIES = 10_000

/**
 * Walks the values of a document once: finds the target of each alias and the position of each name, and reports valid
 * YAML that is no valid setting.
 */
export class YamlTree {
  readonly #faults: Fault[] = []
  readonly #lineOf: (offset: number) => number
  /** Anchors seen so far; an anchor without a size is still being walked. */
  readonly #anchors = new Map<string, { readonly node: Node; size: number | undefined }>()
  readonly #targets = new Map<Alias, Node>()
  readonly #pairs = new Map<YAMLMap, Map<string, Pair>>()
  #copies = 0

  constructor(contents: Node | null, lineOf: (offset: number) => number) {
    this.#lineOf = lineOf
    if (contents !== null) this.#look(contents)
  }

  /** In text order. */
  get faults(): readonly Fault[] {
    return this.#faults
  }

  /** Returns the value at a name or an index, and the offset of the name; undefined if there is none. */
  step(from: Node, part: PropertyKey): { readonly value: Node | null; readonly offset: number } | undefined {
    const node = isAlias(from) ? this.#targets.get(from) : from
    if (isMap(node)) {
      const pair = this.#pairs.get(node)?.get(String(part))
      return pair && { value: pair.value as Node | null, offset: offsetOf(pair.key as Node) }
    }
    const item = isSeq(node) ? (node.items[Number(part)] as Node | undefined) : undefined
    return item && { value: item, offset: offsetOf(item) }
  }

  /** Returns how many values a node contains, including copies. */
  #look(node: Node): number {
    if (isAlias(node)) return this.#follow(node)
    const anchor = 'anchor' in node && typeof node.anchor === 'string' ? node.anchor : undefined
    const entry = { node, size: undefined as number | undefined }
    if (anchor !== undefined) this.#anchors.set(anchor, entry)
    const size = this.#measure(node)
    entry.size = size
    return size
  }

  #measure(node: Node): number {
    if (isMap(node)) return 1 + this.#lookInto(node)
    if (isSeq(node)) return node.items.reduce<number>((sum, item) => sum + this.#look(item as Node), 1)
    // YAML 1.1 read such a number as octal, YAML 1.2 reads it as decimal; reject it as ambiguous.
    if (isScalar(node) && typeof node.value === 'number' && /^[-+]?0[\dox]/i.test(node.source ?? '')) {
      const message =
        'expected a decimal number without a leading 0, got: one with a leading 0; put it in quotes if it is text'
      this.#complain(node, message)
    }
    return 1
  }

  #lookInto(map: YAMLMap): number {
    const pairs = new Map<string, Pair>()
    let size = 0
    for (const pair of map.items as Pair<Node, Node | null>[]) {
      const { key, value } = pair
      const name = isScalar(key) ? String(key.value) : ''
      const above = pairs.get(name)
      if (above !== undefined) {
        const line = this.#lineOf(offsetOf(above.key as Node))
        this.#complain(key, `expected each name once in a mapping, got: the one of line ${line} again`)
        continue
      }
      pairs.set(name, pair)
      if (name === '__proto__') this.#complain(key, `no setting is named ${quote(name)}`)
      if (name === '<<') {
        this.#complain(key, 'expected the settings themselves, got: <<, which is not supported here')
      }
      // A comma ends a value within {}: {'*': 100, 10/s} is a limit of 100, and a name 10/s without a value.
      if (map.flow === true && (value === null || (isScalar(value) && value.value === null))) {
        const hint = "text with a comma needs quotes inside {}, such as {'*': '100, 10/s'}"
        this.#complain(key, `expected a value after this name, got: nothing; ${hint}`)
      }
      if (value !== null) size += this.#look(value)
    }
    this.#pairs.set(map, pairs)
    return size
  }

  #follow(alias: Alias): number {
    const entry = this.#anchors.get(alias.source)
    if (entry === undefined) {
      // Its name is not shown: it may be a value that was meant as text.
      const hint = "put text that begins with * in quotes, such as '*.example.com'"
      this.#complain(alias, `expected an anchor (&name) before this alias (*name), got: none; ${hint}`)
      return 1
    }
    if (entry.size === undefined) {
      this.#complain(
        alias,
        'expected an alias (*name) outside the value of its anchor (&name), got: one inside it',
      )
      return 1
    }
    this.#targets.set(alias, entry.node)
    const before = this.#copies
    this.#copies += entry.size
    if (before <= MOST_COPIES && this.#copies > MOST_COPIES) {
      this.#complain(alias, `expected aliases (*name) to copy at most ${MOST_COPIES} values, got: more`)
    }
    return entry.size
  }

  #complain(node: Node, message: string): void {
    this.#faults.push({ offset: offsetOf(node), message })
  }
}

function offsetOf(node: Node): number {
  return node.range?.[0] ?? 0
}
