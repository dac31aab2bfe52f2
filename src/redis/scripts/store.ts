import { randomBytes } from 'node:crypto'
import { monotonicNow } from '../../core/clock.ts'
import { SECOND } from '../../core/duration.ts'
import { BackendUnavailableError, isVelvetRopeError } from '../../core/errors.ts'
import type { Connection } from '../connection/connection.ts'
import { patiently } from '../connection/patience.ts'
import { missingZone } from '../connection/redis-errors.ts'
import { shardOf } from './keys.ts'
import { number } from './reply.ts'
import { defineScript, type Script } from './script.ts'
import { ScriptCalls } from './script-calls.ts'
import { ZONES_PER_CALL, zonesScript, zoneTable } from './zone-tables.ts'

/** So many shards are asked at a time: what each of them sends, such as a rule book, is held until it has answered. */
const TOGETHER = 32
/** A request that reaches Redis later than this is refused: its caller already has the error that Redis is unavailable. */
export const NOT_AFTER = 2 * SECOND
const PAUSE_MS = 30

const timeScript = defineScript('time', import.meta.url, number)

type Values = readonly (string | number)[]

/** A new name for an operation: its script replays what it answered to that name, for ten seconds. */
export function operationName(): string {
  return randomBytes(12).toString('base64url')
}

/** The shards of one shaper, and how their scripts are called. Times are microseconds. */
export class Store {
  readonly tags: readonly string[]
  readonly #connection: Connection
  readonly #calls: ScriptCalls
  /** The time of each shard's Redis minus the local monotonic time, as last read. */
  readonly #offsets: (number | undefined)[] = []

  /** @param shaper its name, for the diagnostics channels */
  constructor(connection: Connection, tags: readonly string[], shaper: string) {
    this.#connection = connection
    this.#calls = new ScriptCalls(connection, shaper)
    this.tags = tags
  }

  get shards(): number {
    return this.tags.length
  }

  /** The shard that has the bucket of the key. */
  shardOf(key: string): number {
    return shardOf(key, this.tags.length)
  }

  /** Runs a script once; the caller retries. */
  async run<Reply>(script: Script<Reply>, shard: number, values: Values): Promise<Reply> {
    return script.parse(await this.#send(script, shard, values))
  }

  /**
   * Writes what is known here of time zones, from which scripts compute the periods of quotas by the calendar. Zones that are
   * unknown here are left out.
   *
   * @param isUnusable whether a script found what is there to be of no use
   */
  async writeZones(
    shard: number,
    zones: readonly string[],
    { isUnusable = false, now }: { readonly isUnusable?: boolean; readonly now?: number } = {},
  ): Promise<boolean> {
    const madeAt = now ?? (await this.storeTime(shard))
    const tables = zones.flatMap((zone) => zoneTable(zone, madeAt))
    for (let from = 0; from < tables.length; from += 2 * ZONES_PER_CALL) {
      const values = [now ?? '', isUnusable ? '1' : '0', ...tables.slice(from, from + 2 * ZONES_PER_CALL)]
      await this.#calls.run(zonesScript, this.tags[shard]!, values)
    }
    return tables.length > 0
  }

  /** Runs a read-only script, with retries. Its first value is the time. */
  read<Reply>(script: Script<Reply>, shard: number, values: Values, now?: number): Promise<Reply> {
    return this.#patiently(() => this.run(script, shard, [now ?? '', ...values]))
  }

  /**
   * Runs a script that gives the same reply when it is called twice, with retries for two seconds. Its first values are the
   * time, and the time after which it must not run any more.
   */
  async write<Reply>(script: Script<Reply>, shard: number, values: Values, now?: number): Promise<Reply> {
    if (now !== undefined) return this.run(script, shard, [now, '', ...values])
    for (const isLast of [false, true]) {
      const notAfter = (await this.storeTime(shard)) + NOT_AFTER
      const reply = await this.#patiently(() => this.#send(script, shard, ['', notAfter, ...values]))
      if (!Array.isArray(reply) || reply[0] !== 'late') return script.parse(reply)
      // The call took too long, or the clock of Redis was set.
      if (!isLast) await this.time(shard)
    }
    throw new BackendUnavailableError('Redis is unavailable: the request came too late and was refused')
  }

  /**
   * Asks all shards, and resolves with what the first of them has. When none has it and one failed, it is unknown.
   *
   * @throws (rejects) what that one failed with
   */
  async firstFound<Found>(ask: (shard: number) => Promise<Found | undefined>): Promise<Found | undefined> {
    const answers = await Promise.allSettled(this.tags.map((_, shard) => ask(shard)))
    let failed: PromiseRejectedResult | undefined
    for (const answer of answers) {
      if (answer.status === 'rejected') failed ??= answer
      else if (answer.value !== undefined) return answer.value
    }
    if (failed !== undefined) throw failed.reason
    return undefined
  }

  /**
   * Does the same in all shards, in many of them at a time. Where one of them is away, it is done in the others all the same.
   *
   * @throws (rejects) in the end, what the first that failed failed with
   */
  async everywhere(act: (shard: number) => Promise<void>, together = TOGETHER): Promise<void> {
    let failed: PromiseRejectedResult | undefined
    for (let from = 0; from < this.shards; from += together) {
      const some = [...this.tags.keys()].slice(from, from + together)
      for (const done of await Promise.allSettled(some.map(act))) {
        if (done.status === 'rejected') failed ??= done
      }
    }
    if (failed !== undefined) throw failed.reason
  }

  async text(key: string): Promise<string | undefined> {
    return (await this.#patiently(() => this.#calls.ask((commands) => commands.get(key)))) ?? undefined
  }

  /** Reads a field of a hash, once, or with retries. */
  async field(key: string, field: string, { isPatient = false } = {}): Promise<string | undefined> {
    const read = () => this.#calls.ask((commands) => commands.hget(key, field))
    return (await (isPatient ? this.#patiently(read) : read())) ?? undefined
  }

  /** Reads fields of a hash in one step, once. */
  async fields(key: string, ...fields: readonly string[]): Promise<(string | undefined)[]> {
    const values = await this.#calls.ask((commands) => commands.hmget(key, ...fields))
    return values.map((value) => value ?? undefined)
  }

  /** The time of a shard: read from Redis once, then derived from the local clock. */
  async storeTime(shard: number): Promise<number> {
    if (this.#offsets[shard] === undefined) await this.#patiently(() => this.time(shard))
    return monotonicNow() + this.#offsets[shard]!
  }

  /** Reads the time of a shard from Redis. */
  async time(shard: number): Promise<number> {
    const time = await this.run(timeScript, shard, [])
    this.#offsets[shard] = time - monotonicNow()
    return time
  }

  /** Sends a call, and again after it has written what the script lacked of a time zone: then the script has changed nothing. */
  async #send(script: Script, shard: number, values: Values): Promise<unknown> {
    const written = new Set<string>()
    for (;;) {
      try {
        return await this.#calls.send(script, this.tags[shard]!, values)
      } catch (error) {
        const missing = missingZone(error)
        if (missing === undefined || written.has(missing.zone)) throw error
        written.add(missing.zone)
        if (!(await this.writeZones(shard, [missing.zone], { isUnusable: true, now: missing.at })))
          throw error
      }
    }
  }

  /** Retries until the time is over, and does not wait longer for a try that hangs. */
  #patiently<Answer>(call: () => Promise<Answer>): Promise<Answer> {
    let last: unknown
    const tries = async (isOver: () => boolean) => {
      for (;;) {
        try {
          return await call()
        } catch (error) {
          if (!isVelvetRopeError(error, 'backend-unavailable') || isOver()) throw error
          last = error
          // Redis may refuse at once, again and again: this pause keeps the loop from spinning.
          await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
          await this.#connection.ready()
        }
      }
    }
    return patiently(tries, () => last)
  }
}
