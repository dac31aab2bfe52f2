/** The first line of a function that is not within another one; it ends there, or at the beginning of a line. */
const FUNCTION = /^(?:local )?function (?:\w+\.)?(\w+)\(/
/** The line of a library that has functions of one table alone, such as `usage`. */
const OF = /^-- of: (\w+)$/m

/** Lines of a library: a function with the comment above it, or what lies between functions. */
interface Piece {
  readonly text: string
  /** It is needed where one of these names stands; undefined: always. */
  readonly names: readonly string[] | undefined
  readonly words: readonly string[]
}

/** By text: scripts share libraries. */
const known = new Map<string, readonly Piece[]>()

/**
 * The libraries without the functions that a script never calls: Redis runs a script from its first line in each call, and to make a
 * function takes as long where nothing calls it. A function counts as called where its name stands in what is left, whatever that means
 * there. A library of one table is whole where one of its functions is called; otherwise it is empty.
 *
 * @returns as many texts as there are libraries
 */
export function calledFunctions(libraries: readonly string[], body: string): string[] {
  const parsed = libraries.map(piecesOf)
  const waiting = new Set(parsed.flat())
  const reached = new Set(wordsOf(body))
  let left = Number.POSITIVE_INFINITY
  // What is called by what was found to be called comes in the next round.
  while (waiting.size < left) {
    left = waiting.size
    for (const piece of waiting) {
      if (piece.names?.some((name) => reached.has(name)) === false) continue
      for (const word of piece.words) reached.add(word)
      waiting.delete(piece)
    }
  }
  return parsed.map((pieces) => {
    const called = pieces.filter((piece) => !waiting.has(piece))
    return called.map(({ text }) => text).join('\n')
  })
}

/** The table of which a library has functions alone; undefined: it is not of one. */
export function tableOf(library: string): string | undefined {
  return OF.exec(library)?.[1]
}

/** The functions of a library that are fields of the table. */
export function functionsOf(table: string, library: string): string[] {
  const definitions = library.matchAll(new RegExp(`^ *function ${table}\\.(\\w+)\\(`, 'gm'))
  return [...definitions].map(([, name]) => name!)
}

function piecesOf(library: string): readonly Piece[] {
  const pieces = known.get(library) ?? parse(library)
  known.set(library, pieces)
  return pieces
}

function parse(library: string): Piece[] {
  const table = tableOf(library)
  if (table !== undefined) return [pieceOf(library, functionsOf(table, library))]
  const lines = library.split('\n')
  const pieces: Piece[] = []
  for (let from = 0; from < lines.length; ) {
    const [end, name] = pieceFrom(lines, from)
    pieces.push(pieceOf(lines.slice(from, end).join('\n'), name === undefined ? undefined : [name]))
    from = end
  }
  return pieces
}

/** Behind which line the piece ends that begins at this one, and which function it is. */
function pieceFrom(lines: readonly string[], from: number): [number, string | undefined] {
  let at = from
  while (lines[at]?.startsWith('--')) at++
  const first = lines[at] ?? ''
  const name = FUNCTION.exec(first)?.[1]
  if (name === undefined) return [at + 1, undefined]
  return [first.endsWith(' end') ? at + 1 : lines.indexOf('end', at) + 1, name]
}

function pieceOf(text: string, names: Piece['names']): Piece {
  return { text, names, words: wordsOf(text) }
}

/** Without those of comments that have a line of their own. */
function wordsOf(text: string): readonly string[] {
  return [...new Set(text.replace(/^ *--.*$/gm, '').match(/[A-Za-z_]\w*/g))]
}
