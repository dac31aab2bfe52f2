import { createHash } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'
import { resolve } from 'node:path'
import { InvalidConfigError } from './config-error.ts'
import { FILE_VARIABLE } from './environment.ts'

/** The file that is read if none is named. */
const DEFAULT_FILE = 'velvet-rope.yaml'

const LARGEST_FILE = 4 * 1_024 * 1_024

/** The location of the configuration file. */
export interface ConfigLocation {
  /** The name of the file in messages. */
  readonly name: string
  /** Absolute path. */
  readonly path: string
  /** Whether it was named explicitly; then it must exist. */
  readonly isNamed: boolean
}

export function locateConfig(sources: {
  readonly file?: string
  readonly cwd?: string
  readonly env: Readonly<NodeJS.ProcessEnv>
}): ConfigLocation {
  const named = sources.file ?? (sources.env[FILE_VARIABLE] || undefined)
  const name = named ?? DEFAULT_FILE
  return { name, path: resolve(sources.cwd ?? process.cwd(), name), isNamed: named !== undefined }
}

/** The content of a file. */
export interface ConfigBytes {
  readonly bytes: Uint8Array
  /** SHA-256 of the bytes, in hexadecimal. */
  readonly digest: string
}

/**
 * Reads the file; returns undefined if there is none. @throws InvalidConfigError if it cannot be read, or is larger
 * than 4 MiB
 */
export async function readConfigBytes({ name, path }: ConfigLocation): Promise<ConfigBytes | undefined> {
  let bytes: Uint8Array
  try {
    const file = await open(path)
    try {
      bytes = await readAtMost(file, LARGEST_FILE + 1)
    } finally {
      await file.close()
    }
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error
    if (error.code === 'ENOENT') return undefined
    throw unreadable(name, REASONS.get(String(error.code)) ?? String(error.code))
  }
  if (bytes.length > LARGEST_FILE) {
    throw unreadable(name, `expected at most ${LARGEST_FILE} bytes, got: more`)
  }
  return { bytes, digest: createHash('sha256').update(bytes).digest('hex') }
}

/** Reads at most `most` bytes, also of files without a size and perhaps without an end, such as pipes. */
async function readAtMost(file: FileHandle, most: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  for (let length = 0; length < most; ) {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(Math.min(65_536, most - length)))
    if (bytesRead === 0) break
    length += bytesRead
    chunks.push(buffer.subarray(0, bytesRead))
  }
  return Buffer.concat(chunks)
}

/**
 * @throws InvalidConfigError if the bytes are not UTF-8 text; a byte order mark is skipped
 */
export function decodeConfig(name: string, bytes: Uint8Array): string {
  const [first, second] = bytes
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) {
    throw unreadable(name, 'expected text in UTF-8, got: UTF-16; save it as UTF-8')
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    const message = 'expected text in UTF-8, got: an invalid byte; save the file as UTF-8'
    throw new InvalidConfigError([{ where: `${name}:${placeOfFault(bytes)}`, message }])
  }
}

/** `line:column` of the first byte that is not UTF-8. */
function placeOfFault(bytes: Uint8Array): string {
  const text = new TextDecoder('utf-8').decode(bytes)
  const encoder = new TextEncoder()
  let [at, offset] = [0, 0]
  // A replacement character may also be in the file itself.
  for (;;) {
    const next = text.indexOf('\ufffd', at)
    offset += encoder.encode(text.slice(at, next)).length
    at = next
    if (bytes[offset] !== 0xef || bytes[offset + 1] !== 0xbf || bytes[offset + 2] !== 0xbd) break
    offset += 3
    at++
  }
  const lines = text.slice(0, at).split('\n')
  return `${lines.length}:${lines.at(-1)!.length + 1}`
}

/** The error for a file that was named, or existed before, and does not exist. */
export function missingFile({ name }: ConfigLocation): InvalidConfigError {
  return unreadable(name, 'no such file')
}

function unreadable(name: string, reason: string): InvalidConfigError {
  return new InvalidConfigError([{ where: name, message: `cannot be read: ${reason}` }])
}

const REASONS: ReadonlyMap<string, string> = new Map([
  ['EACCES', 'permission denied'],
  ['EPERM', 'permission denied'],
  ['EISDIR', 'it is a folder (Docker creates one if the file to mount is missing)'],
  ['ENOTDIR', 'a part of its path is not a folder'],
  ['ELOOP', 'its symbolic links form a cycle'],
])
