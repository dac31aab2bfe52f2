import { monotonicNow } from '../../core/clock.ts'
import { redisErrors, scriptRuns } from '../../core/diagnostics.ts'
import { BackendUnavailableError } from '../../core/errors.ts'
import type { Client } from '../connection/client-profiles.ts'
import type { Connection } from '../connection/connection.ts'
import { commandWithin } from '../connection/patience.ts'
import { asBackendError, redisErrorKind } from '../connection/redis-errors.ts'
import { runScript, type Script } from './script.ts'

/** Makes each call once, turns failures into errors of this package, and publishes both on the diagnostics channels. */
export class ScriptCalls {
  readonly #connection: Connection
  readonly #owner: string

  /** @param owner the name of the shaper or meter, for the diagnostics channels */
  constructor(connection: Connection, owner: string) {
    this.#connection = connection
    this.#owner = owner
  }

  /** @param key the first key of the script: the tag of a shard, or the level of a meter */
  async run<Reply>(
    script: Script<Reply>,
    key: string,
    values: readonly (string | number | Buffer)[],
  ): Promise<Reply> {
    return script.parse(await this.send(script, key, values))
  }

  /** As `run`, with the reply as Redis sent it. */
  async send(script: Script, key: string, values: readonly (string | number | Buffer)[]): Promise<unknown> {
    const sentAt = scriptRuns.hasSubscribers ? monotonicNow() : undefined
    try {
      const reply = await commandWithin(runScript(this.#connection.commands, script, key, values))
      this.#publishRun(script, sentAt)
      return reply
    } catch (error) {
      this.#reconnectAfterTimeout(error)
      this.#publishError(error)
      this.#publishRun(script, sentAt, error)
      throw error
    }
  }

  /** Runs a command that is not a script. */
  async ask<Answer>(command: (commands: Client) => Promise<Answer>): Promise<Answer> {
    try {
      return await commandWithin(command(this.#connection.commands))
    } catch (thrown) {
      const error = asBackendError(thrown)
      this.#publishError(error)
      throw error
    }
  }

  #publishRun({ verb }: Script, sentAt: number | undefined, error?: unknown): void {
    if (sentAt === undefined) return
    const duration = monotonicNow() - sentAt
    const failure = error === undefined ? {} : { error: redisErrorKind(error) }
    scriptRuns.publish({ shaper: this.#owner, verb, duration, ...failure })
  }

  #publishError(error: unknown): void {
    if (redisErrors.hasSubscribers) {
      redisErrors.publish({ shaper: this.#owner, kind: redisErrorKind(error) })
    }
  }

  /** A socket on which a reply is overdue may be half open. */
  #reconnectAfterTimeout(error: unknown): void {
    if (error instanceof BackendUnavailableError && error.message.includes('no answer in time')) {
      this.#connection.reconnect()
    }
  }
}
