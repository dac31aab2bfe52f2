import { Readable } from 'node:stream'
import { describe } from '../core/describe.ts'
import { InvalidOptionsError } from '../core/errors.ts'
import { type KeptBody, readBody } from '../forward/answer-body.ts'
import { Secrets } from '../forward/secrets.ts'
import { READ_FOR_AMOUNTS } from '../forward/settling.ts'

/** What callers of these get is theirs, with all that it contains. */
const NO_SECRETS = new Secrets({})

/** An answer of any implementation of fetch. */
export interface ClonableAnswer {
  readonly body?: unknown
  clone?(): { readonly body?: unknown }
}

/**
 * Copies the body of an answer that its caller has not got yet, and reads the copy. The copy is read as fast as it comes;
 * what the caller has not read by then is kept for it, so at most as much as is read here.
 *
 * @throws (rejects) InvalidOptionsError where the answers of `fetch` cannot be copied
 */
export async function readCopy(answer: ClonableAnswer): Promise<KeptBody | undefined> {
  if ((answer.body ?? null) === null) return readPieces([])
  if (typeof answer.clone !== 'function') {
    throw new InvalidOptionsError(
      `shapedFetch: expected the answers of fetch to have a method clone, because settle reads their bodies, got: ${describe(answer.clone)}`,
    )
  }
  return readPieces(answer.clone().body as AsyncIterable<Buffer>)
}

/** Copies the pieces of a body as they pass by. */
export class PassingCopy {
  readonly #pieces: Buffer[] = []
  readonly #ended: Promise<boolean>
  #size = 0
  #end: (isWhole: boolean) => void = () => undefined

  constructor() {
    this.#ended = new Promise((resolve) => {
      this.#end = resolve
    })
  }

  add(piece: Buffer): void {
    this.#size += piece.length
    if (this.#size > READ_FOR_AMOUNTS) this.#pieces.length = 0
    else this.#pieces.push(piece)
  }

  end(isWhole: boolean): void {
    this.#end(isWhole)
  }

  /** @param coding the `Content-Encoding` */
  async read(coding: string | undefined): Promise<KeptBody | undefined> {
    if (!(await this.#ended)) return undefined
    if (this.#size > READ_FOR_AMOUNTS) return { bytes: Buffer.alloc(0), truncated: true }
    return readPieces(this.#pieces, coding)
  }
}

async function readPieces(
  pieces: Iterable<Buffer> | AsyncIterable<Buffer>,
  coding?: string,
): Promise<KeptBody | undefined> {
  try {
    return await readBody(Readable.from(pieces), coding, READ_FOR_AMOUNTS, NO_SECRETS)
  } catch {
    return undefined
  }
}
