import { monotonicNow } from '../../core/clock.ts'
import { redisErrors, scriptRuns } from '../../core/diagnostics.ts'
import { BackendUnavailableError } from '../../core/errors.ts'
import type { Client } from '../connection/client-profiles.ts'
import type { Connection } from '../connection/connection.ts'
import { commandWithin } from '../connection/patience.ts'
import { asBackendError, redisErrorKind } from '../connection/redis-errors.ts'
import { runScript, type Script } from './script.ts'

/** One try each: what comes back is an answer or one of our errors, and those who watch are told of both. */
export class ScriptCalls {
  readonly #connection: Connection
  readonly #owner: string

  /** @param owner the name of the shaper or meter, for those who watch */
  constructor(connection: Connection, owner: string) {
    this.#connection = connection
    this.#owner = owner
  }

  /** @param key the first key of the script: the tag of a shard, or the level of a meter */
  async run<Reply>(script: Script<Reply>, key: string, values: readonly (string | number)[]): Promise<Reply> {
    return script.parse(await this.send(script, key, values))
  }

  /** As `run`, with the reply as Redis sent it. */
  async send(script: Script, key: string, values: readonly (string | number)[]): Promise<unknown> {
    const sentAt = scriptRuns.hasSubscribers ? monotonicNow() : undefined
    try {
      const reply = await commandWithin(runScript(this.#connection.commands, script, key, values))
      this.#tellRun(script, sentAt)
      return reply
    } catch (error) {
      this.#noteTimeout(error)
      this.#tellError(error)
      this.#tellRun(script, sentAt, error)
      throw error
    }
  }

  /** A command that is no script. */
  async ask(command: (commands: Client) => Promise<string | null>): Promise<string | undefined> {
    try {
      return (await commandWithin(command(this.#connection.commands))) ?? undefined
    } catch (thrown) {
      const error = asBackendError(thrown)
      this.#tellError(error)
      throw error
    }
  }

  #tellRun({ verb }: Script, sentAt: number | undefined, error?: unknown): void {
    if (sentAt === undefined) return
    const duration = monotonicNow() - sentAt
    const failure = error === undefined ? {} : { error: redisErrorKind(error) }
    scriptRuns.publish({ shaper: this.#owner, verb, duration, ...failure })
  }

  #tellError(error: unknown): void {
    if (redisErrors.hasSubscribers) {
      redisErrors.publish({ shaper: this.#owner, kind: redisErrorKind(error) })
    }
  }

  /** A socket on which an answer is overdue may be half open. */
  #noteTimeout(error: unknown): void {
    if (error instanceof BackendUnavailableError && error.message.includes('no answer in time')) {
      this.#connection.reconnect()
    }
  }
}
