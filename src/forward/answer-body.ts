import type { Readable, Transform } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import type { ForwardResult } from './answer.ts'
import type { Secrets } from './secrets.ts'

const DECODERS: ReadonlyMap<string, () => Transform> = new Map<string, () => Transform>([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
])

export interface KeptBody {
  readonly bytes: Buffer
  /** The body was longer. */
  readonly truncated: boolean
}

const UNREADABLE: KeptBody = { bytes: Buffer.alloc(0), truncated: true }

/**
 * Reads at most `most` bytes, decompressed, and discards the rest, so that an endless body, or one that decompresses to
 * gigabytes, does no harm. Secrets that the third party echoes are overwritten; they could not be found in compressed
 * data, so a body that cannot be decompressed is not kept.
 *
 * @param coding the `Content-Encoding`
 * @throws errors of the connection, but none for a body that does not match its coding
 */
export async function readBody(
  body: Readable,
  coding: string | undefined,
  most: number,
  secrets: Secrets,
): Promise<KeptBody> {
  const plain = decode(body, coding?.trim().toLowerCase() || 'identity')
  try {
    return plain === undefined ? UNREADABLE : await readSome(plain, most, secrets)
  } catch (error) {
    if (plain === body || body.errored !== null) throw error
    return UNREADABLE
  } finally {
    body.destroy()
  }
}

function decode(body: Readable, coding: string): Readable | undefined {
  if (coding === 'identity') return body
  const decoder = DECODERS.get(coding)?.()
  // Also handles the error of a body that is destroyed before its end.
  body.on('error', (error) => decoder?.destroy(error))
  return decoder === undefined ? undefined : body.pipe(decoder)
}

async function readSome(chunks: AsyncIterable<Buffer>, most: number, secrets: Secrets): Promise<KeptBody> {
  const read: Buffer[] = []
  // Finds a secret across the cut as well.
  const enough = most + Math.max(1, secrets.longest)
  let size = 0
  for await (const chunk of chunks) {
    read.push(chunk)
    size += chunk.length
    // Leaving the loop destroys the stream.
    if (size >= enough) break
  }
  const bytes = Buffer.concat(read)
  secrets.hideBytes(bytes)
  return { bytes: bytes.subarray(0, most), truncated: size > most }
}

/** What is kept of it where only so many bytes may be. */
export function cutTo({ bytes, truncated }: KeptBody, most: number): KeptBody {
  return { bytes: bytes.subarray(0, most), truncated: truncated || bytes.length > most }
}

/** Returns the bytes as text if they are UTF-8, except for a character cut off at the end. */
export function writeBody({
  bytes,
  truncated,
}: KeptBody): Pick<ForwardResult, 'body' | 'encoding' | 'truncated'> {
  try {
    const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
    return { body: decoder.decode(bytes, { stream: truncated }), encoding: 'text', truncated }
  } catch {
    return { body: bytes.toString('base64'), encoding: 'base64', truncated }
  }
}
