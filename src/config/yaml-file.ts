import { type Document, isSeq, LineCounter, type Node, parseDocument } from 'yaml'
import { InvalidConfigError } from './config-error.ts'
import { isMapping, type SettingPath } from './paths.ts'
import { explainSyntax } from './yaml-errors.ts'
import { type Fault, YamlTree } from './yaml-tree.ts'

/** A parsed file of settings that knows the position of each. */
export class YamlFile {
  readonly #name: string
  readonly #contents: Node | null
  readonly #tree: YamlTree
  readonly #lines = new LineCounter()
  readonly value: Readonly<Record<string, unknown>>

  /**
   * @param name the name of the file in messages
   * @throws InvalidConfigError with every problem of the text: invalid YAML, duplicate names, no settings
   */
  constructor(name: string, text: string) {
    this.#name = name
    const document: Document.Parsed = parseDocument(text, {
      lineCounter: this.#lines,
      // Pretty errors show the line, and with it perhaps a password.
      prettyErrors: false,
      stringKeys: true,
      resolveKnownTags: false,
      // The library checks this in quadratic time; the tree does it in linear time.
      uniqueKeys: false,
      logLevel: 'error',
    })
    this.#refuse(explainSyntax(document, text, this.#lines))
    this.#contents = document.contents
    this.#tree = new YamlTree(this.#contents, (offset) => this.#lines.linePos(offset).line)
    this.#refuse(this.#tree.faults)
    // The tree has limited the copies already.
    const value: unknown = document.toJS({ maxAliasCount: -1 })
    if (!isMapping(value)) this.#refuse([noSettings(this.#contents)])
    this.value = value as Readonly<Record<string, unknown>>
  }

  /** Returns the offset of the value at the path, or of its name; if it is absent, that of the closest parent. */
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

/** There is no value after the name, so only the name has a position. */
function isNothing(node: Node | null): boolean {
  return node === null || (node.range?.[0] === node.range?.[1] && !('items' in node))
}

function noSettings(contents: Node | null): Fault {
  const offset = contents?.range?.[0] ?? 0
  const [at, came] =
    contents === null || isNothing(contents)
      ? [0, 'an empty file']
      : [offset, isSeq(contents) ? 'a list' : 'a single value']
  return {
    offset: at,
    message: `expected settings by name, such as limits: { '*': '100, 10/s' }, got: ${came}`,
  }
}
