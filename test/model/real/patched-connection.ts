import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Connection } from '../../../src/redis/connection/connection.ts'
import type { Patch } from '../mutant.ts'

type Command = (...values: unknown[]) => Promise<unknown>

const VERBS = new URL('../../../src/redis/verbs/', import.meta.url)

/** A connection on which some scripts are other than they are in src: with a fault planted. */
export class PatchedConnection extends Connection {
  /** By the digest of a script that a verb names, the text that runs in its place. */
  readonly #texts = new Map<string, string>()
  patch: Patch | undefined
  /** Whether the script was called in its changed form. */
  hasRun = false
  #isPatched = false

  override get commands() {
    const client = super.commands
    if (this.#isPatched) return client
    this.#isPatched = true
    const call = client.call.bind(client) as Command
    const patched: Command = (command, text, ...values) => {
      if (command === 'eval') {
        const changed = this.#change(String(text))
        this.#texts.set(digestOf(String(text)), changed)
        return call('eval', changed, ...values)
      }
      if (command !== 'evalsha') return call(command, text, ...values)
      const known = this.#texts.get(String(text))
      // Then the caller sends the text.
      if (known === undefined) return Promise.reject(new Error('NOSCRIPT no matching script'))
      return call('eval', known, ...values)
    }
    client.call = patched as never
    return client
  }

  #change(text: string): string {
    const { patch } = this
    if (patch === undefined || (patch.script !== '*' && !text.includes(bodyOf(patch.script)))) return text
    if (!text.includes(patch.from)) {
      if (patch.script === '*') return text
      throw new Error(`${patch.script}.lua does not hold: ${patch.from}`)
    }
    this.hasRun = true
    return text.replace(patch.from, () => patch.to)
  }
}

function bodyOf(script: string): string {
  const text = readFileSync(new URL(`${script}.lua`, VERBS), 'utf8')
  return text.slice(text.indexOf('\n') + 1)
}

function digestOf(text: string): string {
  return createHash('sha1').update(text).digest('hex')
}
