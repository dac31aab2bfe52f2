import { type Document, isSeq, LineCounter, type Node, parseDocument } from 'yaml'
import { InvalidConfigError } from './config-error.ts'
import { isMapping, type SettingPath } from './paths.ts'
import { explainSyntax } from './yaml-errors.ts'
import { type Fault, YamlTree } from './yaml-tree.ts'

/** A file of settings that was read, and that knows where in it each of them stands. */
export class YamlFile {
  readonly #name: string
  readonly #contents: Node | null
  readonly #tree: YamlTree
  readonly #lines = new LineCounter()
  readonly value: Readonly<Record<string, unknown>>

  /**
   * @param name what messages call it
   * @throws InvalidConfigError with every fault of its form: no YAML, two values of one name, no settings
   */
  constructor(name: string, text: string) {
    this.#name = name
    const document: Document.Parsed = parseDocument(text, {
      lineCounter: this.#lines,
      // Pretty ones show the line, and with it the password in it.
      prettyErrors: false,
      stringKeys: true,
      resolveKnownTags: false,
      // The library compares each name with each other; the tree does it in one go.
      uniqueKeys: false,
      logLevel: 'error',
    })
    this.#refuse(explainSyntax(document, text, this.#lines))
    this.#contents = document.contents
    this.#tree = new YamlTree(this.#contents, (offset) => this.#lines.linePos(offset).line)
    this.#refuse(this.#tree.faults)
    // The tree has counted the copies.
    const value: unknown = document.toJS({ maxAliasCount: -1 })
    if (!isMapping(value)) this.#refuse([noSettings(this.#contents)])
    this.value = value as Readonly<Record<string, unknown>>
  }

  /** Where in the text the value at the path stands, or its name; that of what is around it where it is absent. */
  offsetOf(path: SettingPath, isAboutName = false): number {
    let node = this.#contents
    let offset = node?.range?.[0] ?? 0
    for (const [index, part] of path.entries()) {
      const found = node === null ? undefined : this.#tree.step(node, part)
      if (found === undefined) break
      node = found.value
      const isName = (isAboutName && index === path.length - 1) || isNothing(node)
      offset = isName ? found.offset : (node?.range?.[0] ?? found.offset)
    }
    return offset
  }

  /** `file:line:column` of an offset. */
  placeOf(offset: number): string {
    const { line, col } = this.#lines.linePos(offset)
    return `${this.#name}:${line}:${col}`
  }

  #refuse(faults: readonly Fault[]): void {
    if (faults.length === 0) return
    throw new InvalidConfigError(
      faults.map(({ offset, message }) => ({ where: this.placeOf(offset), message })),
    )
  }
}

/** Nothing stands behind the name, so that only the name has a place. */
function isNothing(node: Node | null): boolean {
  return node === null || (node.range?.[0] === node.range?.[1] && !('items' in node))
}

function noSettings(contents: Node | null): Fault {
  const offset = contents?.range?.[0] ?? 0
  const [at, came] =
    contents === null || isNothing(contents)
      ? [0, 'an empty file']
      : [offset, isSeq(contents) ? 'a list' : 'a single value']
  return { offset: at, message: `expected settings by name, such as listen: 127.0.0.1:7077, got: ${came}` }
}
