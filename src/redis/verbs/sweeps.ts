import { randomBytes } from 'node:crypto'
import type { Script } from '../scripts/script.ts'
import type { Store } from '../scripts/store.ts'

/**
 * Calls of `expire` and `recover`, which report each job once: a call whose reply was lost is repeated by the next one, and
 * gets the same reply from the script.
 */
export class Sweeps {
  readonly #store: Store
  readonly #keep: string
  /** Names this process to the script. */
  readonly #process = randomBytes(12).toString('base64url')
  /** By verb and shard, the numbers of the sweeps whose replies did not arrive. */
  readonly #unanswered = new Map<string, number>()
  #count = 0

  constructor(store: Store, keep: string) {
    this.#store = store
    this.#keep = keep
  }

  /** Whether the next call of that verb has to be made soon, because the reply to the last one was lost. */
  isUnanswered(verb: 'expire' | 'recover', shard: number): boolean {
    return this.#unanswered.has(`${verb} ${shard}`)
  }

  /** @param more the last arguments of the script */
  async run<Reply>(
    script: Script<Reply>,
    shard: number,
    now: number | undefined,
    ...more: readonly (string | number)[]
  ): Promise<Reply> {
    const name = `${script.verb} ${shard}`
    const sweep = this.#unanswered.get(name) ?? ++this.#count
    this.#unanswered.set(name, sweep)
    const values = [now ?? '', this.#keep, `${this.#process}:${script.verb}`, sweep, ...more]
    const reply = await this.#store.run(script, shard, values)
    this.#unanswered.delete(name)
    return reply
  }
}
