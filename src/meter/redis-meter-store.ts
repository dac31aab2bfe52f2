import { redisErrors } from '../core/diagnostics.ts'
import { Connection } from '../redis/connection/connection.ts'
import { type ConnectionInput, parseConnection } from '../redis/connection/connection-input.ts'
import { noAnswer, patiently } from '../redis/connection/patience.ts'
import { redisErrorKind } from '../redis/connection/redis-errors.ts'
import { Opening } from '../redis/opening.ts'
import { meterKey } from '../redis/scripts/keys.ts'
import { number, packed } from '../redis/scripts/reply.ts'
import { defineScript, type Script } from '../redis/scripts/script.ts'
import { ScriptCalls } from '../redis/scripts/script-calls.ts'
import type { Filled, FillRequest, MeterId, MeterStore, Reading } from './meter-store.ts'
import { RedisMeterQuotas } from './redis-meter-quotas.ts'

const STATE = ['level', 'at', 'blockedUntil', 'interval'] as const

const fillScript = defineScript('meter-fill', import.meta.url, packed('accepted', 'now', ...STATE), {
  isBinary: true,
})
const readScript = defineScript('meter-read', import.meta.url, packed('now', ...STATE), { isBinary: true })
const drainScript = defineScript('meter-drain', import.meta.url, number)

/** How long to wait for a connection, within the two seconds that a call may take. */
const READY_WITHIN_MS = 1_500

export interface RedisMeterStoreOptions {
  /** The name of the meter, for diagnostics and messages. */
  readonly name: string
  readonly prefix: string
  readonly connection: ConnectionInput
}

/**
 * Stores levels that processes share in Redis: one script per verb, and the clock of Redis. A level expires once it is
 * empty and not blocked. A Redis that evicts keys is rejected, because a lost level would accept every fill.
 *
 * A call is sent at most once: if its reply is lost, it is unknown whether it ran, and the error says so.
 */
export class RedisMeterStore implements MeterStore {
  readonly #prefix: string
  readonly #connection: Connection
  readonly #calls: ScriptCalls
  readonly #opening: Opening
  readonly quotas = new RedisMeterQuotas((ask) =>
    patiently((isOver) => ask((script, meter, values) => this.#run(script, meter, values, isOver))),
  )

  /** Starts to connect. @throws InvalidOptionsError */
  constructor({ name, prefix, connection }: RedisMeterStoreOptions) {
    // Callers get the error from their call; others may subscribe to it.
    const onTrouble = (error: Error) => {
      if (redisErrors.hasSubscribers) redisErrors.publish({ shaper: name, kind: redisErrorKind(error) })
    }
    this.#prefix = prefix
    this.#connection = new Connection(parseConnection(connection), onTrouble)
    this.#calls = new ScriptCalls(this.#connection, name)
    this.#opening = new Opening({
      name,
      connection: this.#connection,
      backend: { durability: 'none', open: async () => [] },
      readyWithinMs: READY_WITHIN_MS,
      onConnected: () => undefined,
      onWarning: onTrouble,
    })
    this.#opening.ready().catch(() => undefined)
  }

  async fill(request: FillRequest, now?: number): Promise<Filled> {
    const { amount, capacity, interval, clamp, block } = request
    const values = [now ?? '', amount, capacity, interval, clamp ? 1 : 0, block]
    const { accepted, now: filledAt, ...state } = await this.#call(fillScript, request, values)
    return { accepted: accepted === 1, state, now: filledAt }
  }

  async read(meter: MeterId, now?: number): Promise<Reading> {
    const { now: readAt, ...state } = await this.#call(readScript, meter, [now ?? ''])
    // A stored level has the interval of its last fill.
    return { state: state.interval === 0 ? undefined : state, now: readAt }
  }

  async drain(meter: MeterId): Promise<void> {
    await this.#call(drainScript, meter, [])
  }

  close(): Promise<void> {
    this.#opening.close()
    return this.#connection.close()
  }

  /** @throws UnfitRedisError, ForeignValueError, or within two seconds BackendUnavailableError */
  #call<Reply>(script: Script<Reply>, meter: MeterId, values: readonly (string | number)[]): Promise<Reply> {
    return patiently((isOver) => this.#run(script, meter, values, isOver))
  }

  async #run<Reply>(
    script: Script<Reply>,
    { name, key }: MeterId,
    values: readonly (string | number | Buffer)[],
    isOver: () => boolean,
  ): Promise<Reply> {
    if (!this.#opening.isOpen) await this.#opening.ready()
    await this.#connection.ready(READY_WITHIN_MS)
    // The caller got an error that Redis is unavailable, and may have retried.
    if (isOver()) throw noAnswer()
    return this.#calls.run(script, meterKey(this.#prefix, name, key), values)
  }
}
