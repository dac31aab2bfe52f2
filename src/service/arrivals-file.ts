import { type FileHandle, open, stat } from 'node:fs/promises'
import { quote } from '../core/describe.ts'
import { InvalidOptionsError } from '../core/errors.ts'
import { ARRIVALS_HEADER, FORMER_HEADER, inFormerForm } from '../simulate/arrivals-csv.ts'

/** Only the owner may read it: keys and their times are confidential. */
const MODE = 0o600
/** Exceeds the longest line. */
const TAIL_BYTES = 8_192

/**
 * Appends whole lines to a file of arrivals, with a header at its beginning. Log rotation may move, remove or truncate
 * the file at any time; the next lines then go into a new file of the same name.
 */
export class ArrivalsFile {
  readonly #path: string
  #handle: FileHandle

  private constructor(path: string, handle: FileHandle) {
    this.#path = path
    this.#handle = handle
  }

  /**
   * Opens or creates the file. An incomplete last line, left by a crash, is removed.
   *
   * @throws InvalidOptionsError if it cannot be written, or contains something other than arrivals
   */
  static async open(path: string): Promise<ArrivalsFile> {
    try {
      return new ArrivalsFile(path, await openToAppend(path))
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && 'syscall' in error)) throw error
      throw new InvalidOptionsError(
        `record: expected a file that can be written, got: ${quote(path)}, ${error.code}`,
      )
    }
  }

  /** Returns the offset of the last arrival, in seconds; 0 if there is none. */
  async lastOffset(): Promise<number> {
    const line = (await tailOf(this.#handle)).trimEnd().split('\n').at(-1) ?? ''
    return Number.parseFloat(line) || 0
  }

  /** Whether an earlier version began the file. It is continued in its form, without named costs, until it is moved away. */
  async isFormer(): Promise<boolean> {
    return (await beginOf(this.#handle)).startsWith(FORMER_HEADER)
  }

  /** Appends all of the lines or none. If it rejects, the same lines may be tried again. */
  async append(lines: string): Promise<void> {
    await this.#followPath()
    const { size } = await this.#handle.stat()
    const rows = (await this.isFormer()) ? inFormerForm(lines) : lines
    const bytes = Buffer.from(size === 0 ? `${ARRIVALS_HEADER}${rows}` : rows)
    try {
      for (let written = 0; written < bytes.length; ) {
        written += (await this.#handle.write(bytes, written)).bytesWritten
      }
    } catch (error) {
      // A full disk may have written a part.
      await this.#handle.truncate(size).catch(() => undefined)
      throw error
    }
  }

  async close(): Promise<void> {
    await this.#handle.close()
  }

  /** Reopens the file if its name refers to another file now, or to none. */
  async #followPath(): Promise<void> {
    const [ours, there] = await Promise.all([this.#handle.stat(), stat(this.#path).catch(() => undefined)])
    if (there !== undefined && there.ino === ours.ino && there.dev === ours.dev) return
    const next = await openToAppend(this.#path)
    await this.#handle.close().catch(() => undefined)
    this.#handle = next
  }
}

async function openToAppend(path: string): Promise<FileHandle> {
  const handle = await open(path, 'a+', MODE)
  try {
    await assertArrivals(handle, path)
    const tail = await tailOf(handle)
    const torn = Buffer.byteLength(tail.slice(tail.lastIndexOf('\n') + 1))
    const { size } = await handle.stat()
    if (torn > 0) await handle.truncate(size - torn)
    return handle
  } catch (error) {
    await handle.close()
    throw error
  }
}

/** Rejects a file that was named by mistake, without changing it. */
async function assertArrivals(handle: FileHandle, path: string): Promise<void> {
  if (!(await handle.stat()).isFile()) {
    throw new InvalidOptionsError(`record: expected a regular file, got: ${quote(path)}`)
  }
  const begin = await beginOf(handle)
  if (ARRIVALS_HEADER.startsWith(begin) || begin.startsWith(FORMER_HEADER)) return
  throw new InvalidOptionsError(
    `record: expected a file of arrivals, which begins with ${ARRIVALS_HEADER.trimEnd()}, got: ${quote(path)}, which begins differently`,
  )
}

/** As much of the file as a header is long. */
function beginOf(handle: FileHandle): Promise<string> {
  return textAt(handle, 0, ARRIVALS_HEADER.length)
}

async function tailOf(handle: FileHandle): Promise<string> {
  const { size } = await handle.stat()
  const from = Math.max(0, size - TAIL_BYTES)
  return textAt(handle, from, size - from)
}

async function textAt(handle: FileHandle, from: number, length: number): Promise<string> {
  const bytes = Buffer.alloc(length)
  const { bytesRead } = await handle.read(bytes, 0, length, from)
  return bytes.toString('utf8', 0, bytesRead)
}
