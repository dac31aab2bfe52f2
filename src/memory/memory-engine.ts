import type { Audit } from '../conformance/history.ts'
import { type Clock, systemClock } from '../core/clock.ts'
import { MILLISECOND } from '../core/duration.ts'
import { ShaperClosedError } from '../core/errors.ts'
import type { Admission, BucketView, JobView, Rejected } from '../core/job.ts'
import { LayeredBook } from '../core/layered-book.ts'
import { TurnCancelledError } from '../core/turn-errors.ts'
import type { Handler } from '../line/attempt.ts'
import type { Awaitable } from '../line/awaitable.ts'
import type { BucketPage, BucketQuery, BucketTally, TallyGroup } from '../line/bucket-query.ts'
import { emitRules, jobEvent } from '../line/emit.ts'
import type { Emitter } from '../line/emitter.ts'
import type { Engine } from '../line/engine.ts'
import type { BackendJob, JobRequest } from '../line/job.ts'
import { LiveRuleBook, type RuleStore } from '../line/limits.ts'
import type { LineSettings, WorkSettings } from '../line/options.ts'
import { givenLayers } from '../line/options.ts'
import type { FreezeRequest } from '../line/outcome.ts'
import { PendingTurns, refuseLateTurn, type Turn } from '../line/pending-turns.ts'
import { Closing } from './closing.ts'
import { Gate } from './gate.ts'
import { inTurns } from './in-turns.ts'
import { InlineHandoff } from './inline-handoff.ts'
import { KeepAlive } from './keep-alive.ts'
import { LocalEntrance } from './local-entrance.ts'
import { LocalInsight } from './local-insight.ts'
import { LocalTurns } from './local-turns.ts'
import { LocalWorker } from './local-worker.ts'
import { Scheduler } from './scheduler.ts'
import { MemoryBackend } from './store/memory-backend.ts'

/** So many buckets are looked at in one go: some hundred microseconds. */
const SURVEY_PAGE = 200

export type MemorySettings = LineSettings & { readonly clock?: Clock | undefined }

/** The line in the memory of this process. What a verb does has been done when it returns; nothing is awaited. */
export class MemoryEngine<Data, Result> implements Engine<Data, Result> {
  readonly durability = 'memory'
  readonly limits: LiveRuleBook
  readonly insight: LocalInsight
  readonly #name: string
  readonly #clock: Clock
  readonly #emitter: Emitter<Result>
  readonly #backend: MemoryBackend
  readonly #gate: Gate
  readonly #handoff: InlineHandoff
  readonly #scheduler: Scheduler
  readonly #entrance: LocalEntrance<Result>
  readonly #keepAlive = new KeepAlive()
  readonly #workers = new Set<LocalWorker<Data, Result>>()
  readonly #desk = new PendingTurns()
  readonly #closing: Closing

  /** @throws InvalidLimitError or InvalidKeyError */
  constructor(name: string, settings: MemorySettings, emitter: Emitter<Result>) {
    const { limitsBy, jobDefaults, clock } = settings
    this.#name = name
    this.#clock = clock ?? systemClock
    this.#emitter = emitter
    const book = LayeredBook.of(givenLayers(settings), { at: this.#clock.now(), version: 1 })
    this.#backend = new MemoryBackend(book, jobDefaults.keepFinished)
    this.#gate = new Gate(this.#backend, this.#clock)
    const turnPorts = {
      name,
      backend: this.#backend,
      gate: this.#gate,
      clock: this.#clock,
      emitter,
      desk: this.#desk,
    }
    this.#handoff = new InlineHandoff(new LocalTurns({ ...turnPorts, onChange: () => this.#changed() }))
    const onExpired = (job: BackendJob, now: number) => {
      emitter.emit('expired', jobEvent(job, now))
      if (job.isTurn) this.#desk.expire(job.id)
      this.#changed()
    }
    const onCancelled = (job: BackendJob, now: number) => {
      emitter.emit('cancelled', jobEvent(job, now))
      if (job.isTurn) this.#desk.refuse(job.id, new ShaperClosedError(name))
    }
    this.#scheduler = new Scheduler(this.#backend, this.#handoff, this.#clock, { name, onExpired })
    this.#entrance = new LocalEntrance({
      backend: this.#backend,
      scheduler: this.#scheduler,
      clock: this.#clock,
      emitter,
      onChange: () => this.#changed(),
    })
    this.#closing = new Closing(this.#backend, this.#scheduler, this.#clock, onCancelled, this.#workers)
    this.limits = new LiveRuleBook(this.#ruleStore(), limitsBy)
    this.insight = new LocalInsight(
      this.#backend.insight,
      this.#clock,
      this.limits,
      this.#workers,
      this.#handoff,
    )
  }

  ready(): void {}

  enqueue(request: JobRequest): Admission {
    return this.#entrance.enqueue(request)
  }

  enqueueMany(requests: readonly JobRequest[]): Admission[] {
    return this.#entrance.enqueueMany(requests)
  }

  forecast(key: string, cost: number): Admission {
    return this.#entrance.forecast(key, cost)
  }

  async turn(request: JobRequest, signal: AbortSignal | undefined): Promise<Turn | Rejected> {
    // A listener that is told of the admission may make the line move.
    this.#emitter.hold()
    try {
      const admission = this.enqueue(request)
      if (!admission.accepted) return admission
      const { id } = admission
      const turn = this.#desk.wait({ ...request, id }, { signal, onLeave: () => void this.cancel(id) })
      if (request.deadline > 0) return turn
      // Now or never: no timer is waited for.
      while (this.#desk.has(id) && this.#scheduler.runOnce().handed > 0);
      return turn.catch((error: unknown) =>
        refuseLateTurn(request, error, (key, cost) => this.forecast(key, cost)),
      )
    } finally {
      this.#emitter.release()
    }
  }

  cancel(id: string): boolean {
    const now = this.#clock.now()
    const job = this.#backend.cancel(id, now)
    if (job !== undefined) this.#emitter.emit('cancelled', jobEvent(job, now))
    if (job?.isTurn) this.#desk.refuse(id, new TurnCancelledError(id))
    this.#changed()
    return job !== undefined
  }

  job(id: string): JobView | undefined {
    return this.#backend.job(id, this.#clock.now())
  }

  inspect(key: string): BucketView | undefined {
    return this.#backend.inspect(key, this.#clock.now())
  }

  buckets(query: BucketQuery): Awaitable<BucketPage> {
    return inTurns(this.#backend.list(query, this.#clock.now()))
  }

  tally(groups: readonly TallyGroup[]): Awaitable<BucketTally[]> {
    return inTurns(this.#backend.tally(groups, this.#clock.now()))
  }

  async *survey(): AsyncGenerator<readonly BucketView[]> {
    let page: BucketView[] = []
    for (const key of this.#backend.keys()) {
      const view = this.inspect(key)
      if (view !== undefined) page.push(view)
      if (page.length < SURVEY_PAGE) continue
      yield page
      page = []
    }
    yield page
  }

  audit(): Audit {
    return this.#backend.audit()
  }

  freeze(key: string, { forMs, ...asked }: FreezeRequest): void {
    const now = this.#clock.now()
    const until = this.#backend.freeze(key, now + forMs * MILLISECOND, now)
    this.#emitter.emit('frozen', { key, at: now / MILLISECOND, until: until / MILLISECOND, ...asked })
    this.#changed()
  }

  unfreeze(key: string): boolean {
    const now = this.#clock.now()
    if (!this.#backend.unfreeze(key, now)) return false
    this.#emitter.emit('unfrozen', { key, at: now / MILLISECOND })
    this.#changed()
    return true
  }

  pause(key: string): void {
    const now = this.#clock.now()
    this.#backend.pause(key, now)
    this.#emitter.emit('paused', { key, at: now / MILLISECOND })
  }

  resume(key: string): void {
    const now = this.#clock.now()
    this.#backend.resume(key, now)
    this.#emitter.emit('resumed', { key, at: now / MILLISECOND })
    this.#changed()
  }

  work(
    handler: Handler<Data, Result>,
    { concurrency, maxFreezeMs }: WorkSettings,
  ): LocalWorker<Data, Result> {
    const worker: LocalWorker<Data, Result> = new LocalWorker(handler, concurrency, {
      name: this.#name,
      maxFreezeMs,
      backend: this.#backend,
      gate: this.#gate,
      clock: this.#clock,
      emitter: this.#emitter,
      onFree: (key) => {
        this.#handoff.release(key)
        this.#backend.letIn()
      },
      onChange: () => this.#changed(),
      onClosed: () => {
        this.#handoff.remove(worker)
        this.#workers.delete(worker)
      },
    })
    this.#workers.add(worker)
    this.#handoff.add(worker)
    this.#backend.letIn()
    this.#changed()
    return worker
  }

  /** Its one scheduler runs anyway. */
  schedule(): void {}

  async close(drainMs: number | undefined): Promise<void> {
    await this.#closing.close(drainMs)
    this.#keepAlive.set(false)
  }

  /** A change takes hold, and is told, before the call returns. */
  #ruleStore(): RuleStore {
    const backend = this.#backend
    return {
      get rules() {
        return backend.rules
      },
      ropes: this.#entrance.ropes,
      survey: () => this.survey(),
      refresh: () => undefined,
      changeRules: (change) => {
        const changed = backend.changeRules(change, this.#clock.now())
        emitRules(this.#emitter, changed)
        if (changed.isChanged) this.#changed()
        return changed
      },
    }
  }

  /** Something was admitted, has ended or came back. */
  #changed(): void {
    const isLive = this.#backend.live > 0
    if (!isLive) this.#closing.drained()
    this.#keepAlive.set(isLive)
    this.#scheduler.wake()
  }
}
