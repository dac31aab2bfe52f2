import { type Clock, systemClock } from '../core/clock.ts'
import { MILLISECOND } from '../core/duration.ts'
import { ShaperClosedError } from '../core/errors.ts'
import type { HeapReport } from '../core/heap-use.ts'
import type { Admission, Rejected } from '../core/job.ts'
import { LayeredBook } from '../core/layered-book.ts'
import { TurnCancelledError } from '../core/turn-errors.ts'
import type { Costs } from '../core/usage.ts'
import type { Handler } from '../line/attempt.ts'
import { emitRules, emitSettled, jobEvent } from '../line/emit.ts'
import type { Emitter } from '../line/emitter.ts'
import type { Engine } from '../line/engine.ts'
import type { JobRequest } from '../line/job.ts'
import { LiveRuleBook, type RuleStore } from '../line/limits.ts'
import { givenLayers, type LineSettings, retentionOf, type WorkSettings } from '../line/options.ts'
import type { FreezeRequest } from '../line/outcome.ts'
import { PendingTurns, refuseLateTurn } from '../line/pending-turns.ts'
import type { SettleRequest } from '../line/settle.ts'
import type { Turn } from '../line/turn.ts'
import { Lifetime } from './lifetime.ts'
import { MemoryGate } from './memory-gate.ts'
import { MemoryHandoff } from './memory-handoff.ts'
import { MemoryProducer } from './memory-producer.ts'
import { MemoryScheduler } from './memory-scheduler.ts'
import { MemoryTurns } from './memory-turns.ts'
import { MemoryViews } from './memory-views.ts'
import { MemoryWorker } from './memory-worker.ts'
import type { JobRecord } from './store/job-record.ts'
import { MemoryStore } from './store/memory-store.ts'

export type MemorySettings = LineSettings & { readonly clock?: Clock | undefined }

/** The line in the memory of this process. Each verb has done its work when it returns; nothing is awaited. */
export class MemoryEngine<Data, Result> implements Engine<Data, Result> {
  readonly durability = 'memory'
  readonly limits: LiveRuleBook
  readonly views: MemoryViews
  readonly #name: string
  readonly #clock: Clock
  readonly #emitter: Emitter<Result>
  readonly #store: MemoryStore
  readonly #gate: MemoryGate
  readonly #handoff: MemoryHandoff
  readonly #scheduler: MemoryScheduler
  readonly #producer: MemoryProducer<Result>
  readonly #workers = new Set<MemoryWorker<Data, Result>>()
  readonly #turns = new PendingTurns()
  readonly #lifetime: Lifetime

  /** @throws InvalidLimitError or InvalidKeyError */
  constructor(name: string, settings: MemorySettings, emitter: Emitter<Result>) {
    const { limitsBy, jobDefaults, clock = systemClock } = settings
    const store = new MemoryStore(
      LayeredBook.of(givenLayers(settings), { at: clock.now(), version: 1 }),
      retentionOf(jobDefaults),
    )
    const gate = new MemoryGate(name, store.starts, clock)
    const workers = this.#workers
    const onChange = () => this.#changed()
    const ports = { store, gate, clock, emitter, onChange }
    const handoff = new MemoryHandoff(new MemoryTurns({ ...ports, pending: this.#turns }))
    const onExpired = (job: JobRecord, now: number) => {
      emitter.emit('expired', jobEvent(job, now))
      if (job.isTurn) this.#turns.expire(job.id)
      onChange()
    }
    const onHoldExpired = (turn: JobRecord, now: number) => {
      emitter.emit('holdExpired', jobEvent(turn, now))
    }
    const onCancelled = (job: JobRecord, now: number) => {
      emitter.emit('cancelled', jobEvent(job, now))
      if (job.isTurn) this.#turns.refuse(job.id, new ShaperClosedError(name))
    }
    const scheduler = new MemoryScheduler(store, handoff, clock, { name, onExpired, onHoldExpired })
    this.#name = name
    this.#clock = clock
    this.#emitter = emitter
    this.#store = store
    this.#gate = gate
    this.#handoff = handoff
    this.#scheduler = scheduler
    this.#producer = new MemoryProducer({ ...ports, scheduler })
    this.#lifetime = new Lifetime({ store, scheduler, clock, workers, onCancelled })
    this.limits = new LiveRuleBook(this.#ruleStore(), limitsBy)
    this.views = new MemoryViews({ store: store.views, clock, limits: this.limits, workers, handoff })
  }

  ready(): void {}

  get heap(): HeapReport {
    return this.#store.use
  }

  enqueue(request: JobRequest): Admission {
    return this.#producer.enqueue(request)
  }

  enqueueMany(requests: readonly JobRequest[]): Admission[] {
    return this.#producer.enqueueMany(requests)
  }

  forecast(key: string, cost: number, costs?: Costs): Admission {
    return this.#producer.forecast(key, cost, costs)
  }

  async turn(request: JobRequest, signal: AbortSignal | undefined): Promise<Turn | Rejected> {
    // A listener for the admission may make the line move.
    this.#emitter.hold()
    try {
      const admission = this.enqueue(request)
      if (!admission.accepted) return admission
      const { id } = admission
      const turn = this.#turns.wait({ ...request, id }, { signal, onLeave: () => void this.cancel(id) })
      if (request.deadline > 0) return turn
      // Now or never: do not wait for a timer.
      while (this.#turns.has(id) && this.#scheduler.runOnce().handed > 0);
      return turn.catch((error: unknown) =>
        refuseLateTurn(request, error, (...asked) => this.forecast(...asked)),
      )
    } finally {
      this.#emitter.release()
    }
  }

  cancel(id: string, key?: string): boolean {
    const now = this.#clock.now()
    const job = this.#store.cancel(id, now, key)
    if (job !== undefined) this.#emitter.emit('cancelled', jobEvent(job, now))
    if (job?.isTurn) this.#turns.refuse(id, new TurnCancelledError(id))
    this.#changed()
    return job !== undefined
  }

  settle({ id, key, which, amounts }: SettleRequest): boolean {
    const now = this.#clock.now()
    const job = this.#store.runningJob(id, key, which)
    if (job === undefined || !this.#store.starts.settle(job, amounts, now)) return false
    emitSettled(this.#emitter, job, amounts, now)
    this.#changed()
    return true
  }

  freeze(key: string, { forMs, ...asked }: FreezeRequest): void {
    const now = this.#clock.now()
    const until = this.#store.holds.freeze(key, now + forMs * MILLISECOND, now)
    this.#emitter.emit('frozen', { key, at: now / MILLISECOND, until: until / MILLISECOND, ...asked })
    this.#changed()
  }

  unfreeze(key: string): boolean {
    const now = this.#clock.now()
    if (!this.#store.holds.unfreeze(key, now)) return false
    this.#emitter.emit('unfrozen', { key, at: now / MILLISECOND })
    this.#changed()
    return true
  }

  pause(key: string): void {
    const now = this.#clock.now()
    this.#store.holds.pause(key, now)
    this.#emitter.emit('paused', { key, at: now / MILLISECOND })
  }

  resume(key: string): void {
    const now = this.#clock.now()
    this.#store.holds.resume(key, now)
    this.#emitter.emit('resumed', { key, at: now / MILLISECOND })
    this.#changed()
  }

  work(
    handler: Handler<Data, Result>,
    { concurrency, maxFreezeMs, maxTimeoutMs }: WorkSettings,
  ): MemoryWorker<Data, Result> {
    const worker: MemoryWorker<Data, Result> = new MemoryWorker(handler, concurrency, {
      name: this.#name,
      maxFreezeMs,
      maxTimeoutMs,
      store: this.#store,
      gate: this.#gate,
      clock: this.#clock,
      emitter: this.#emitter,
      onFree: (key, now) => {
        this.#handoff.release(key)
        this.#store.letIn(now)
      },
      onChange: () => this.#changed(),
      onClosed: () => {
        this.#handoff.remove(worker)
        this.#workers.delete(worker)
      },
    })
    this.#workers.add(worker)
    this.#handoff.add(worker)
    this.#store.letIn(this.#clock.now())
    this.#changed()
    return worker
  }

  /** Does nothing: the one scheduler of the line always runs. */
  schedule(): void {}

  close(drainMs: number | undefined): Promise<void> {
    return this.#lifetime.close(drainMs)
  }

  /** A change takes effect, and is emitted, before the call returns. */
  #ruleStore(): RuleStore {
    const store = this.#store
    return {
      get rules() {
        return store.rules
      },
      localLimits: this.#producer.localLimits,
      survey: () => this.views.survey(),
      line: (key, limit) => this.views.line(key, limit),
      refresh: () => undefined,
      changeRules: (change) => {
        const changed = store.changeRules(change, this.#clock.now())
        emitRules(this.#emitter, changed)
        if (changed.isChanged) this.#changed()
        return changed
      },
    }
  }

  /** Something was admitted, has ended or came back. */
  #changed(): void {
    this.#lifetime.update()
    this.#scheduler.wake()
  }
}
