import { createReadStream, createWriteStream, type WriteStream } from 'node:fs'
import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { finished } from 'node:stream/promises'
import { quote } from '../core/describe.ts'
import { InvalidOptionsError } from '../core/errors.ts'

/** The bytes of a file, or of standard input for `-`. */
export async function* readChunks(file: string): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of file === '-' ? process.stdin : createReadStream(file)) {
      yield typeof chunk === 'string' ? Buffer.from(chunk) : chunk
    }
  } catch (error) {
    throw fileError('read', file, error)
  }
}

/** The name of an input in messages. */
export function inputName(file: string): string {
  return file === '-' ? 'stdin' : file
}

export async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    throw fileError('read', file, error)
  }
}

export async function writeText(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text)
  } catch (error) {
    throw fileError('write', file, error)
  }
}

/** @throws InvalidOptionsError when two flags name one file, which one of them would overwrite */
export function checkDistinct(flags: Readonly<Record<string, string | undefined>>): void {
  const flagByPath = new Map<string, string>()
  for (const [flag, file] of Object.entries(flags)) {
    if (file === undefined || file === '-') continue
    const other = flagByPath.get(resolve(file))
    if (other !== undefined) {
      throw new InvalidOptionsError(
        `expected --${other} and --${flag} to be two files, got: ${quote(file)} for both`,
      )
    }
    flagByPath.set(resolve(file), flag)
  }
}

/** An output file that replaces the old one only when it is complete. */
export class OutputFile {
  readonly #file: string
  readonly #written: string
  readonly #stream: WriteStream
  readonly #end: Promise<void>

  private constructor(file: string, written: string) {
    this.#file = file
    this.#written = written
    this.#stream = createWriteStream(written)
    this.#end = finished(this.#stream)
    // The next write reports the error.
    this.#end.catch(() => {})
  }

  static async open(file: string): Promise<OutputFile> {
    // Pipes and devices cannot be replaced, only written to.
    const known = await stat(file).catch(() => undefined)
    return new OutputFile(file, known === undefined || known.isFile() ? `${file}.partial` : file)
  }

  async write(text: string): Promise<void> {
    if (text === '') return
    await this.#attempt(
      new Promise<void>((resolve, reject) => {
        this.#stream.write(text, (error) => (error ? reject(error) : resolve()))
      }),
    )
  }

  /** Writes the rest and moves the file into place. */
  async commit(): Promise<void> {
    this.#stream.end()
    await this.#attempt(this.#end)
    if (this.#written !== this.#file) await this.#attempt(rename(this.#written, this.#file))
  }

  async discard(): Promise<void> {
    this.#stream.destroy()
    if (this.#written !== this.#file) await rm(this.#written, { force: true })
  }

  async #attempt(work: Promise<void>): Promise<void> {
    try {
      await work
    } catch (error) {
      throw fileError('write', this.#file, error)
    }
  }
}

/** Turns system errors about a file into InvalidOptionsError; other errors pass unchanged. */
function fileError(verb: 'read' | 'write', file: string, error: unknown): unknown {
  if (!(error instanceof Error && 'syscall' in error && 'code' in error)) return error
  const reason = REASONS.get(String(error.code)) ?? error.message
  return new InvalidOptionsError(`cannot ${verb} ${inputName(file)}: ${reason}`)
}

const REASONS: ReadonlyMap<string, string> = new Map([
  ['ENOENT', 'no such file or folder'],
  ['EACCES', 'permission denied'],
  ['EPERM', 'permission denied'],
  ['EISDIR', 'it is a folder'],
  ['ENOTDIR', 'a part of its path is not a folder'],
  ['ENOSPC', 'no space left'],
])
