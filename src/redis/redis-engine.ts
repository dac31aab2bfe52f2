import type { Durability } from '../core/bucket-view.ts'
import { redisErrors } from '../core/diagnostics.ts'
import { MILLISECOND } from '../core/duration.ts'
import type { HeapReport } from '../core/heap-use.ts'
import type { Admission, Rejected } from '../core/job.ts'
import { TurnCancelledError } from '../core/turn-errors.ts'
import type { Costs } from '../core/usage.ts'
import type { Handler } from '../line/attempt.ts'
import { emitSettled, jobEvent } from '../line/emit.ts'
import type { Emitter } from '../line/emitter.ts'
import type { Engine, ShapedWorker } from '../line/engine.ts'
import type { JobRequest } from '../line/job.ts'
import type { RuleStore } from '../line/limits.ts'
import { LiveRuleBook, ruleOf } from '../line/limits.ts'
import { givenLayers, type LineSettings, retentionOf, type WorkSettings } from '../line/options.ts'
import type { FreezeRequest } from '../line/outcome.ts'
import { refuseLateTurn } from '../line/pending-turns.ts'
import type { SettleRequest } from '../line/settle.ts'
import type { Turn } from '../line/turn.ts'
import { Connection } from './connection/connection.ts'
import { parseConnection } from './connection/connection-input.ts'
import { redisErrorKind } from './connection/redis-errors.ts'
import { Opening } from './opening.ts'
import type { RedisSettings } from './options.ts'
import { RedisBackend } from './redis-backend.ts'
import { REPORT_MS, RedisProducer } from './redis-producer.ts'
import { RedisRuntime } from './redis-runtime.ts'
import type { RedisTurns } from './redis-turns.ts'
import { RedisRuleStore } from './rules/redis-rule-store.ts'
import { RuleWatch } from './rules/rule-watch.ts'
import type { ReplacedLayer } from './rules/stored-book.ts'
import type { NamedRequest } from './verbs/admit-calls.ts'
import type { Holding } from './verbs/hold.ts'
import { RedisViews } from './views/redis-views.ts'

/** A line in Redis, which many processes share. Each event is emitted in the process that caused it. */
export class RedisEngine<Data, Result> implements Engine<Data, Result> {
  readonly limits: LiveRuleBook
  readonly views: RedisViews
  readonly #emitter: Emitter<Result>
  readonly #connection: Connection
  readonly #backend: RedisBackend
  readonly #opening: Opening<RedisBackend>
  readonly #producer: RedisProducer<Result>
  readonly #runtime: RedisRuntime<Data, Result>
  readonly #watch: RuleWatch
  #durability: Durability | undefined
  #closing: Promise<void> | undefined

  /** Begins to connect. @throws InvalidOptionsError, InvalidLimitError or InvalidKeyError */
  constructor(name: string, settings: LineSettings & RedisSettings, emitter: Emitter<Result>) {
    const { prefix, shards, jobDefaults, lookAheadMs } = settings
    const rules = givenLayers(settings)
    const onError = (error: Error) => {
      if (this.#closing === undefined) emitter.fail(error)
    }
    const onTrouble = (error: Error) => {
      if (redisErrors.hasSubscribers) redisErrors.publish({ shaper: name, kind: redisErrorKind(error) })
      onError(error)
    }
    this.#emitter = emitter
    this.#connection = new Connection(parseConnection(settings.connection), onTrouble)
    const retention = retentionOf(jobDefaults)
    const connection = this.#connection
    this.#backend = new RedisBackend({ name, prefix, shards, connection, rules, retention })
    const backend = this.#backend
    this.#producer = new RedisProducer({ backend, emitter })
    this.#opening = new Opening({
      name,
      connection,
      backend,
      onWarning: onError,
      onReplaced: (layer) => void this.#emitReplaced(layer).catch(onError),
      onConnected: ({ durability, version }) => {
        this.#durability = durability
        this.#watch.start()
        this.#emitConnected(durability, version).catch(onError)
      },
    })
    const opening = this.#opening
    const ready = () => opening.ready()
    this.views = new RedisViews(backend.store, {
      ready,
      ruleOf: (key) => ruleOf(this.limits, key),
      durability: () => backend.durability,
    })
    this.#runtime = new RedisRuntime({
      name,
      connection,
      backend,
      opening,
      lookAheadMs,
      emitter,
      onError,
    })
    const { localLimits } = this.#producer
    const views: Pick<RuleStore, 'survey' | 'line'> = {
      survey: () => this.views.survey(),
      line: (key, limit) => this.views.line(key, limit),
    }
    const ruleStore = new RedisRuleStore({ localLimits, views, backend, emitter, onError, ready })
    this.#watch = new RuleWatch(() => ruleStore.follow())
    this.limits = new LiveRuleBook(ruleStore, settings.limitsBy)
    // Calls meanwhile wait for the same opening and get its error; otherwise the events report it.
    this.#opening.ready().catch(() => undefined)
  }

  get durability(): Durability | undefined {
    return this.#durability
  }

  ready(): Promise<void> {
    return this.#opening.ready()
  }

  /** The lines are in Redis; the local limits are here. */
  get heap(): HeapReport {
    return this.#producer.localLimits.use
  }

  enqueue(request: JobRequest): Promise<Admission> {
    return this.#opening.begin(() => this.#producer.enqueue(request))
  }

  enqueueMany(requests: readonly JobRequest[]): Promise<Admission[]> {
    return this.#opening.begin(() => this.#producer.enqueueMany(requests))
  }

  forecast(key: string, cost: number, costs?: Costs): Promise<Admission> {
    return this.#opening.ask(() => this.#producer.forecast(key, cost, costs))
  }

  async turn(request: JobRequest, signal: AbortSignal | undefined): Promise<Turn | Rejected> {
    signal?.throwIfAborted()
    const turns = this.#runtime.turns()
    const named = turns.named(request)
    const turn = turns.expect(named, signal)
    const refusal = new Promise<Rejected>((resolve) => {
      const onVerdict = (admission: Admission) => {
        if (admission.accepted) return turns.admitted(named)
        resolve(admission)
        turns.refused(named.id)
      }
      this.#askFor(named, turns).then(onVerdict, (error: unknown) => turns.failed(named, error))
    })
    // The caller may give up, or its turn may come, before the line has answered.
    const outcome = Promise.race([turn, refusal])
    if (request.deadline > 0) return outcome
    return outcome.catch((error: unknown) =>
      refuseLateTurn(named, error, (...asked) => this.forecast(...asked)),
    )
  }

  #askFor(named: NamedRequest, turns: RedisTurns): Promise<Admission> {
    return this.#opening.begin(async () => {
      // A caller whose turn has just come may ask again: its place must be free first.
      await turns.reported
      if (!turns.isExpected(named.id)) throw new TurnCancelledError(named.id)
      return this.#producer.enqueue(named)
    })
  }

  async cancel(id: string, key?: string): Promise<boolean> {
    const job = await this.#opening.ask(() => this.#backend.verbs.cancel(id, undefined, key))
    if (job !== undefined) this.#emitter.emit('cancelled', jobEvent(job, job.at))
    return job !== undefined
  }

  async settle(request: SettleRequest): Promise<boolean> {
    const start = await this.#opening.ask(() => this.#backend.verbs.settleRunning(request))
    if (start !== undefined) emitSettled(this.#emitter, start, request.amounts, start.at)
    return start !== undefined
  }

  async freeze(key: string, { forMs, ...asked }: FreezeRequest): Promise<void> {
    const held = await this.#opening.ask(() => this.#backend.verbs.freeze(key, forMs * MILLISECOND))
    const { at, until } = await settled(held)
    this.#emitter.emit('frozen', { key, at: at / MILLISECOND, until: until / MILLISECOND, ...asked })
  }

  async unfreeze(key: string): Promise<boolean> {
    const { at, isLifted } = await this.#opening.ask(() => this.#backend.verbs.unfreeze(key))
    if (isLifted) this.#emitter.emit('unfrozen', { key, at: at / MILLISECOND })
    return isLifted
  }

  async pause(key: string): Promise<void> {
    const { at } = await settled(await this.#opening.ask(() => this.#backend.verbs.pause(key)))
    this.#emitter.emit('paused', { key, at: at / MILLISECOND })
  }

  async resume(key: string): Promise<void> {
    const { at } = await this.#opening.ask(() => this.#backend.verbs.resume(key))
    this.#emitter.emit('resumed', { key, at: at / MILLISECOND })
  }

  work(handler: Handler<Data, Result>, settings: WorkSettings): ShapedWorker {
    return this.#runtime.work(handler, settings)
  }

  schedule(): void {
    this.#runtime.schedule()
  }

  close(drainMs: number | undefined): Promise<void> {
    this.#closing ??= this.#close(drainMs)
    return this.#closing
  }

  async #close(drainMs: number | undefined): Promise<void> {
    this.#opening.close()
    this.#watch.stop()
    await this.#runtime.close(drainMs)
    await this.#connection.close()
  }

  async #emitReplaced(layer: ReplacedLayer): Promise<void> {
    if (!this.#emitter.hears('limitsReplaced')) return
    this.#emitter.emit('limitsReplaced', { ...layer, at: (await this.#backend.store.time(0)) / MILLISECOND })
  }

  async #emitConnected(durability: Durability, version: string): Promise<void> {
    if (!this.#emitter.hears('connected')) return
    const at = (await this.#backend.store.time(0)) / MILLISECOND
    this.#emitter.emit('connected', { durability, version, at })
  }
}

/** Waits for a job that was granted its slot before: it starts nevertheless, and until then the bucket does not stand still. */
async function settled(held: Holding): Promise<Holding> {
  const waitMs = held.departsAt === 0 ? 0 : (held.departsAt - held.at) / MILLISECOND + REPORT_MS
  if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs))
  return held
}
