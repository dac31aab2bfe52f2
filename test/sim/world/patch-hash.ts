import { createRequire } from 'node:module'
import { currentProcess } from './world.ts'

type Text = string | NodeJS.ArrayBufferView
interface RealHash {
  update(text: Text, encoding?: BufferEncoding): RealHash
  digest(encoding?: BufferEncoding): string | Buffer
}

/** As much of a hash as clients of Redis use. */
class RememberedHash {
  readonly #real: () => RealHash
  readonly #known: Map<string, string>
  #parts: (readonly [Text, BufferEncoding | undefined])[] = []

  constructor(real: () => RealHash, known: Map<string, string>) {
    this.#real = real
    this.#known = known
  }

  update(text: Text, encoding?: BufferEncoding): this {
    this.#parts.push([text, encoding])
    return this
  }

  digest(encoding?: BufferEncoding): string | Buffer {
    const [[text, from] = [''], ...others] = this.#parts
    const isPlain =
      others.length === 0 && typeof text === 'string' && from === undefined && encoding === 'hex'
    const known = isPlain ? this.#known.get(text) : undefined
    if (known !== undefined) return known
    const hash = this.#real()
    for (const [part, of] of this.#parts) hash.update(part, of)
    const digest = hash.digest(encoding)
    if (isPlain) this.#known.set(text, digest as string)
    return digest
  }
}

/** Clients hash all their scripts for each connection, which took a twentieth of the time of a run: hashes are remembered. */
export function patchHash(): void {
  const crypto: Record<string, unknown> = createRequire(import.meta.url)('node:crypto')
  const realCreate = crypto['createHash'] as (algorithm: string, options?: unknown) => RealHash
  const known = new Map<string, string>()
  crypto['createHash'] = (algorithm: string, options?: unknown) => {
    const isOurs = currentProcess() !== undefined && algorithm === 'sha1' && options === undefined
    if (!isOurs) return realCreate(algorithm, options)
    return new RememberedHash(() => realCreate(algorithm), known)
  }
}
