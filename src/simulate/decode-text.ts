import { InvalidInputError } from '../core/errors.ts'

/**
 * Decodes UTF-8 as it arrives and removes a byte order mark.
 *
 * @throws InvalidInputError if the bytes are not UTF-8: a replaced character would change the key
 */
export async function* decodeText(file: string, chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let line = 1
  const decode = (chunk: Uint8Array | undefined): string => {
    try {
      return chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true })
    } catch (cause) {
      if (!(cause instanceof TypeError)) throw cause
      const at = { file, line: line + (chunk === undefined ? 0 : linesBeforeDefect(chunk)), column: 1 }
      throw new InvalidInputError(at, 'expected UTF-8 text, got bytes that are not')
    }
  }
  for await (const chunk of chunks) {
    yield decode(chunk)
    line += countLines(chunk)
  }
  yield decode(undefined)
}

/** The decoder does not say where it stopped; the first bytes that do not survive a round trip do. */
function linesBeforeDefect(chunk: Uint8Array): number {
  const text = new TextDecoder('utf-8').decode(chunk)
  const defect = text.indexOf('\uFFFD')
  return text.slice(0, Math.max(0, defect)).split('\n').length - 1
}

function countLines(chunk: Uint8Array): number {
  let lines = 0
  for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) lines++
  return lines
}
