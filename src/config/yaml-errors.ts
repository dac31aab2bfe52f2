import { type Document, type ErrorCode, type LineCounter, visit, type YAMLError } from 'yaml'
import type { Fault } from './yaml-tree.ts'

/** A syntax error. */
interface SyntaxFault extends Fault {
  /** Whether the parser misinterprets everything after it. */
  readonly isMisleading?: boolean
}

/**
 * Returns the syntax errors of a text, at most one per line: the first of a line explains the others. No message shows
 * a value of the file, since it may be a password.
 */
export function explainSyntax(document: Document.Parsed, text: string, counter: LineCounter): Fault[] {
  const errors = [...document.errors, ...document.warnings.filter(({ code }) => FAULTS.has(code))]
  const found = errors.map((error) => explain(error, document, text))
  const { explicit, version } = document.directives.yaml
  if (explicit === true && version !== '1.2') {
    found.push({ offset: 0, message: 'expected YAML 1.2, got: %YAML of another version' })
  }
  found.sort((a, b) => a.offset - b.offset)
  const last = found.findIndex(({ isMisleading }) => isMisleading)
  const lines = new Set<number>()
  return found.slice(0, last === -1 ? undefined : last + 1).filter(({ offset }) => {
    const { line } = counter.linePos(offset)
    return !lines.has(line) && lines.add(line)
  })
}

/** Warnings that are errors for us: the text means something other than intended. */
const FAULTS: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['TAG_RESOLVE_FAILED', 'BAD_ALIAS'])

const COLON = 'expected a colon and a space after a name'
const NO_CLOSING_QUOTE = 'expected a closing quote for the one here, got: the end of the file'

const BY_CODE: Partial<Record<ErrorCode, string>> = {
  TAB_AS_INDENT: 'expected spaces for the indentation, got: a tab',
  TAG_RESOLVE_FAILED:
    'expected a plain value, got: a YAML tag (!name); put text that begins with ! in quotes',
  MULTIPLE_DOCS: 'expected one document, got: another one after --- or ...',
  RESOURCE_EXHAUSTION: 'expected settings, got: something nested too deeply',
  NON_STRING_KEY: 'expected the name of a setting, got: a mapping or a list',
  BAD_DQ_ESCAPE:
    'expected a known YAML escape after \\ in "", got: another; write it in \'\' to have no escapes',
  BAD_SCALAR_START: 'expected a value, got: one that begins with @, ` or %; put it in quotes',
  BLOCK_AS_IMPLICIT_KEY:
    'expected one value after the name, got: a mapping; put text with a colon and a space in quotes, or start a new line',
  MULTILINE_IMPLICIT_KEY: `${COLON}, on the same line`,
}

/** Messages of the YAML library, and what they mean. */
const BY_MESSAGE: readonly (readonly [says: RegExp, message: string])[] = [
  [/^Missing closing .quote$/, NO_CLOSING_QUOTE],
  [/^Implicit map keys need to be followed/, COLON],
  [/^All mapping items must start/, 'expected it to begin in the same column as the names above'],
  [
    /^(All sequence items must start|A block sequence may not)/,
    'expected it to begin in the same column as the items above',
  ],
  [/^Flow map in block/, 'expected a } before this line'],
  [/^Flow sequence in block/, 'expected a ] before this line'],
]

function explain({ code, message, pos: [at] }: YAMLError, document: Document, text: string): SyntaxFault {
  if (code === 'BAD_ALIAS' || code === 'NON_STRING_KEY') {
    const [begins, word] = wordAt(text, at)
    const begun = word.startsWith('*')
      ? 'a * begins an alias'
      : word.startsWith('&')
        ? 'an & begins an anchor'
        : ''
    if (begun !== '') {
      const message = `${begun} in YAML: write ${word} in quotes, '${word}'`
      return { offset: begins, message, isMisleading: true }
    }
  }
  const words = BY_MESSAGE.find(([says]) => says.test(message))?.[1] ?? BY_CODE[code]
  if (words === NO_CLOSING_QUOTE) return { offset: lastQuote(document) ?? at, message: words }
  if (words !== undefined) return { offset: at, message: words }
  if (/ at node end$/.test(message)) {
    const hint = text[at] === ':' ? 'put a space after the colon' : "within '' a ' is written as ''"
    return { offset: at, message: `expected nothing after the value on its line, got: more text; ${hint}` }
  }
  // After a colon the library shows the text.
  return { offset: at, message: `not YAML: ${message.replace(/(?<=\w): \S.*$/s, '')}` }
}

/** Returns the word around an offset, without the colon after it, and where it begins. It is a name, not a value. */
function wordAt(text: string, at: number): readonly [begins: number, word: string] {
  const [before] = /[^\s,[\]{}]*$/.exec(text.slice(Math.max(0, at - 80), at))!
  const begins = at - before.length
  const [word] = /^[^\s,[\]{}:]*/.exec(text.slice(begins, begins + 80))!
  return [begins, word]
}

/** Returns where the last quoted text begins: an unclosed one reaches to the end. */
function lastQuote(document: Document): number | undefined {
  let offset: number | undefined
  visit(document, {
    Scalar: (_, { type, range }) => {
      if (type === 'QUOTE_DOUBLE' || type === 'QUOTE_SINGLE') offset = range?.[0]
    },
  })
  return offset
}
