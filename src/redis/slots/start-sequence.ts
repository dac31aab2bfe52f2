import type { Clock } from '../../core/clock.ts'
import { quote } from '../../core/describe.ts'
import { MILLISECOND } from '../../core/duration.ts'
import { ForeignValueError } from '../../core/errors.ts'
import { Semaphore, Units } from '../../core/semaphore.ts'
import { toError } from '../../core/thrown.ts'
import { retryDelay } from '../connection/retry-delay.ts'
import type { Delivery } from '../transport/transport.ts'
import type { GateAnswer } from '../verbs/gate.ts'
import type { RemovedJob } from '../verbs/handed-job.ts'
import { MOST_BYTES } from './batch.ts'
import type { BucketQueue } from './bucket-queue.ts'
import type { GateEntry } from './gate-entry.ts'
import type { HandlerPatience } from './handler-patience.ts'
import { HandlerPermit } from './handler-permit.ts'
import { HandlerWait } from './handler-wait.ts'
import { LargeData } from './large-data.ts'
import type { Leases } from './leases.ts'
import type { RedisClock } from './redis-clock.ts'
import type { Asking, ShardCalls } from './shard-calls.ts'
import type { SlotRuns } from './slot-runs.ts'
import { type Grant, StartWindow } from './start-window.ts'
import type { WaitingRoom } from './waiting-room.ts'

/** The longest time for which a permit is held idle: other jobs wait for it. */
const NEAR = 50 * MILLISECOND
/** No slot is asked for further ahead: until then others wait for it. */
const MOST_LEAD = 125 * MILLISECOND
/** A job that has to wait asks again after that at the earliest. */
const SOONEST = MILLISECOND
/** Bytes of large data that are held for jobs that have not started. */
const MOST_HELD = 16 * MOST_BYTES
const COARSE = Number.POSITIVE_INFINITY

export interface StartSequencePorts {
  readonly clock: Clock
  /** The clock of the store that keeps the shard. */
  readonly storeClock: (shard: number) => RedisClock
  readonly calls: Pick<ShardCalls, 'fetch' | 'gate' | 'follow' | 'finish'>
  readonly leases: Leases
  /** Does whatever takes time before the start. What it throws goes to `onError`, and the job returns when its lease ends. */
  readonly prepare: (grant: Grant, handed: Delivery, window: StartWindow) => StartHandler
  /** A slot passed because this process was not ready. */
  readonly onMissed: (job: Delivery) => void
  readonly onExpired: (job: RemovedJob) => void
  readonly onError: (error: Error) => void
}

/**
 * Takes the last look and calls the handler in this very tick, with nothing between the two; the permit is the
 * handler's then. Resolves when the job need not be held any more, and never rejects. Undefined: the look said no, and
 * the handler was not called.
 */
export type StartHandler = () => Promise<void> | undefined

/**
 * The steps that take one job from the gate to its handler: wait for a sound clock and for a free handler, ask for a slot,
 * prepare the start, wait for the slot, take the handler, start. The last look at the clock and the lease is the statement
 * before the call of the handler. Where a step comes too late for the slot, the store is asked for another.
 */
export class StartSequence {
  readonly #ports: StartSequencePorts
  readonly #permits: Semaphore<string>
  readonly #handlers: HandlerWait
  readonly #patience: HandlerPatience
  readonly #runs: SlotRuns
  readonly #held = new Semaphore(new Units(MOST_HELD))
  readonly #underWay = new Semaphore(new Units(MOST_BYTES))
  missedSlots = 0

  /** @param room for the buckets that wait for a handler */
  constructor(
    ports: StartSequencePorts,
    permits: Semaphore<string>,
    room: WaitingRoom,
    patience: HandlerPatience,
    runs: SlotRuns,
  ) {
    this.#ports = ports
    this.#permits = permits
    this.#handlers = new HandlerWait(ports.clock, room, patience)
    this.#patience = patience
    this.#runs = runs
  }

  /** Resolves when the job's fate is decided, or when it has to wait for other jobs of its bucket. */
  async run(entry: GateEntry, queue: BucketQueue): Promise<void> {
    const permit = new HandlerPermit(this.#permits, entry.job.key)
    const { calls } = this.#ports
    const data = new LargeData({ calls, held: this.#held, underWay: this.#underWay }, entry)
    try {
      await this.#run(entry, queue, permit, data)
    } catch (error) {
      this.#ports.onError(toError(error))
      entry.decide('dropped')
    } finally {
      permit.putBack()
      data.putBack()
      // Those behind it counted on its start.
      if (entry.fate !== 'started') this.#runs.stop(entry.job.key)
    }
  }

  async #run(entry: GateEntry, queue: BucketQueue, permit: HandlerPermit, data: LargeData): Promise<void> {
    const { storeClock, prepare, onMissed } = this.#ports
    const { job } = entry
    const store = storeClock(job.shard)
    let missed: number | undefined
    let lead = 0
    // By how much the last answer, and what was prepared for it, came too late for a slot of when it was given.
    let late = 0
    for (let failures = 0; entry.isOpen; ) {
      if (!store.isSound) {
        permit.putBack()
        await entry.wait((onSignal) => store.onSound(onSignal))
      } else if (!permit.isWithinReach) {
        await this.#handlers.untilFree(entry, queue, permit)
      } else {
        const follows = queue.isFirst(entry) ? this.#runs.grantOf(entry) : undefined
        const { measurement } = follows ?? store
        const asking = { missed, lead, hasData: data.read !== undefined }
        const answer = follows?.answer ?? (await this.#ask(job, asking))
        if (answer === undefined) {
          permit.putBack()
          await this.#pause(entry, ++failures)
        } else if (answer.kind === 'data') {
          permit.putBack()
          const fetched = await data.fetch(answer.bytes)
          if (fetched === 'stale' || fetched === 'foreign') {
            this.#handleRefusal(entry, { kind: fetched }, store)
            queue.askAgain()
          } else if (fetched === 'failed') {
            data.putBack()
            await this.#pause(entry, ++failures)
          }
        } else if (answer.kind !== 'granted') {
          this.#handleRefusal(entry, answer, store)
          if (answer.kind === 'returned') queue.dropBehind(entry)
          if (!entry.isOpen) queue.askAgain()
          return
        } else if (entry.isOpen) {
          failures = 0
          // A permit that is held for the slot counts as taken, but no handler is stuck.
          this.#patience.moved(this.#ports.clock.now())
          if (follows === undefined) this.#runs.granted(entry, answer, queue.lastEpoch)
          const window = new StartWindow(this.#ports, store, job, answer, measurement)
          const start = prepare({ ...answer, read: data.read }, job, window)
          const before = late
          late = window.isValid ? lead + this.#ports.clock.now() - window.opensAt : 0
          await this.#waitForSlot(entry, answer, window, permit)
          await this.#handlers.take(entry, queue, permit)
          if (!entry.isOpen) return
          // What stopped the run may have come meanwhile.
          if (follows !== undefined && !this.#runs.goesOn(entry)) continue
          // The handler may settle at once, and its permit be free again.
          permit.handOn()
          const run = start()
          this.#patience.moved(this.#ports.clock.now())
          if (run !== undefined) {
            entry.start(run)
            this.#runs.started(entry, answer, window, queue.lastEpoch)
            queue.askAgain()
            return
          }
          this.#runs.stop(job.key)
          permit.takeBack()
          missed = answer.slot
          // Once may be chance. Where it was twice in a row, so it will be the next time.
          lead = Math.max(lead, Math.min(before, late, MOST_LEAD))
          this.missedSlots++
          onMissed(job)
        }
      }
    }
  }

  /** Undefined: the store did not answer. It is asked again while the lease lasts. */
  async #ask(job: Delivery, asking: Asking): Promise<GateAnswer | undefined> {
    const { calls, leases } = this.#ports
    try {
      const { answer, sentAt, receivedAt } = await calls.gate(job.shard, job, asking)
      if (answer.kind === 'granted') leases.extend(job, sentAt, receivedAt)
      return answer
    } catch {
      return undefined
    }
  }

  async #pause(entry: GateEntry, failures: number): Promise<void> {
    const { clock } = this.#ports
    const until = clock.now() + retryDelay(failures)
    await entry.wait((onSignal) => clock.wake(until, onSignal, COARSE))
  }

  #handleRefusal(
    entry: GateEntry,
    answer: Exclude<GateAnswer, { kind: 'granted' | 'data' }>,
    store: RedisClock,
  ): void {
    if (answer.kind === 'wait') {
      const soonest = this.#ports.clock.now() + SOONEST
      // The answer itself may show that the clock of the store was set: its time cannot be compared with the local one then.
      entry.askAt = store.isSound ? Math.max(store.toLocal(answer.until), soonest) : soonest
      return
    }
    entry.decide(answer.kind === 'expired' ? 'expired' : 'dropped')
    if (answer.kind === 'expired') this.#ports.onExpired(answer.job)
    if (answer.kind === 'foreign') this.#ports.onError(foreignValue(entry.job))
  }

  /** Resolves when the slot has come. The offset of the clocks may change meanwhile, so each wake looks again. */
  async #waitForSlot(
    entry: GateEntry,
    grant: Grant,
    window: StartWindow,
    permit: HandlerPermit,
  ): Promise<void> {
    const { clock } = this.#ports
    const slack = grant.tolerance / 2
    if (window.opensAt - clock.now() > NEAR) permit.putBack()
    while (entry.isOpen && window.isValid) {
      const at = window.opensAt
      if (clock.now() >= at) return
      await entry.wait((onSignal) => clock.wake(at, onSignal, slack))
    }
  }
}

function foreignValue({ id, key }: Delivery): ForeignValueError {
  return new ForeignValueError(
    `job ${quote(id)} of key ${quote(key)} cannot start: the store holds something under our names that is not ours`,
  )
}
