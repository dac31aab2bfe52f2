import { setTimeout as sleep } from 'node:timers/promises'
import type { Audit } from '../../../src/conformance/history.ts'
import { isVelvetRopeError, type JobView, type Shaper } from '../../../src/index.ts'
import { isTurnId } from '../../support/turn-id.ts'
import { isLossy } from '../plan/fault.ts'
import type { SimProcess } from '../world/process.ts'
import type { Payload, Scene } from './scene.ts'

/** How often it looks whether all is done; milliseconds. */
const EVERY = 100
/**
 * How often it asks the store whether all jobs have ended, while processes that live have written down that some have not.
 * Each question costs as much as a tenth of a second of a line; milliseconds.
 */
const ASK_EVERY = 1_000
/** Until what a process had sent when it died has reached the store; milliseconds. */
const ARRIVAL = 400
/**
 * By then a store that is well has a request that was given up, or refuses it; milliseconds.
 */
const LATEST = 2_500
/** Of a turn that has ended the store knows for so long; milliseconds. */
const TURNS_KNOWN_FOR = 10_000
/** Processes that live hear of the last ends first; milliseconds. */
const NEWS = 1_500
const SOON = 200
const NO_DELAY = { least: 1, jitter: 0.1, spikes: 0, spike: 0 }
const OUTCOMES = ['completed', 'failed', 'cancelled', 'expired'] as const

/** Where the record of a job has its position: src/redis/scripts/lib/job.lua. */
const POSITION = 22

/**
 * A process with a way to the store that no fault touches. It knows when all is done, and asks the store for what no process
 * lived to write down. It begins when it is first needed: in most runs at the end.
 */
export class Oracle {
  readonly #scene: Scene
  /** Looks and waits until the oracle begins. */
  readonly #fate: SimProcess
  readonly #lookups: Promise<unknown>[] = []
  /** Whether it looks for turns of which no process knows, and whether all is done. */
  #isWatching = false
  #isComplete = false
  #own: { readonly process: SimProcess; readonly shaper: Promise<Shaper<Payload>> } | undefined

  constructor(scene: Scene, fate: SimProcess) {
    this.#scene = scene
    this.#fate = fate
  }

  get process(): SimProcess {
    return this.#begun().process
  }

  #begun() {
    if (this.#own !== undefined) return this.#own
    let onShaper: (shaper: Shaper<Payload>) => void = () => undefined
    const shaper = new Promise<Shaper<Payload>>((resolve) => {
      onShaper = resolve
    })
    const process = this.#scene.enter('oracle', onShaper)
    const link = this.#scene.network.link(process)
    link.toServer.delays = NO_DELAY
    link.toClient.delays = NO_DELAY
    link.toServer.heldUntil = 0
    link.toClient.heldUntil = 0
    link.refusesUntil = 0
    link.splits = 0
    this.#scene.cast.delete('oracle')
    this.#own = { process, shaper }
    return this.#own
  }

  /** What comes after it runs in the process of the oracle. */
  async #inside(): Promise<Shaper<Payload>> {
    const own = this.#begun()
    const shaper = await own.shaper
    return new Promise((resolve) => own.process.at(this.#scene.world.present, 0, () => resolve(shaper)))
  }

  /** Asks until the store answers. */
  async ask<Answer>(question: (shaper: Shaper<Payload>) => Promise<Answer>): Promise<Answer> {
    const shaper = await this.#inside()
    for (;;) {
      try {
        return await question(shaper)
      } catch (error) {
        if (!isVelvetRopeError(error, 'backend-unavailable')) throw error
        await sleep(EVERY)
      }
    }
  }

  /** Resolves when every accepted job has ended and no caller waits for an answer. */
  async rest(isDone: () => boolean): Promise<Audit> {
    const { world, record } = this.#scene
    let askedAt = Number.NEGATIVE_INFINITY
    for (;;) {
      await sleep(EVERY)
      if (!isDone()) continue
      // A process that died may have taken the news of an end with it: so the store is asked now and then all the same.
      if (record.underWay > 0 && world.present < askedAt + ASK_EVERY * 1_000) continue
      askedAt = world.present
      const audit = await this.ask((shaper) => shaper.audit())
      if (audit.ended === audit.admitted && isDone()) return audit
    }
  }

  /** A caller died: the store forgets its turns soon. */
  searchTurnsOf(process: SimProcess): void {
    const { record } = this.#scene
    const own = record.seen.filter(({ by }) => by === process.name)
    const ids = own.flatMap(({ event }) => ('id' in event && isTurnId(event.id) ? [event.id] : []))
    const open = new Set(ids)
    for (const { event } of own) if (event.type === 'end') open.delete(event.id)
    if (open.size === 0) return
    this.#lookUpLater(ARRIVAL, () => [...open])
  }

  /** A turn ended elsewhere, and no process wrote down that it was admitted. */
  searchTurn(id: string): void {
    if (!this.#scene.record.isAnswered(id)) this.#lookUpLater(0, () => [id])
  }

  /** A caller goes on without its turn: where it heard nothing, no process knows the id of one that was admitted all the same. */
  searchUnheardTurns(): void {
    this.#lookUpLater(LATEST, () => this.#unheardTurns())
  }

  /**
   * Looks now and then for turns of which no process knows, until all is done: the store forgets those that have ended, and a server
   * that stands still reads a request for one when it goes on, and admits it where its clock was set back.
   */
  watchTurns(): void {
    this.#isWatching = true
    this.#watchOn()
  }

  #watchOn(): void {
    this.#fate.at(this.#scene.world.present + LATEST * 1_000, 0, () => {
      if (this.#isComplete) return
      this.#lookups.push(...this.#unheardTurns().map((id) => this.#lookUp(id)))
      this.#watchOn()
    })
  }

  /**
   * Turns of the store of which no process has written down that they were admitted, or that they have ended: what gave one up may
   * have been carried out and its answer lost, in an outage after which the store knows the turn no more.
   */
  #unheardTurns(): string[] {
    const { record } = this.#scene
    const admitted = this.#turnsIn('HKEYS', 'jobs').filter((id) => !record.isAnswered(id))
    const ended = this.#turnsIn('ZRANGE', 'gone', '0', '-1').filter((id) => !record.hasEnd(id))
    return [...new Set([...admitted, ...ended])]
  }

  /** The turns in a key of each shard. */
  #turnsIn(command: string, key: string, ...values: readonly string[]): string[] {
    const shards = Array.from({ length: this.#scene.plan.shards }, (_, shard) => `{vr:sim:${shard}}:${key}`)
    const text = shards.map((name) => this.#scene.command(command, name, ...values).toString())
    return text.join().match(/~[\w-]+~[\w-]+/g) ?? []
  }

  /** It counts as under way from now on, so that the oracle does not close before. */
  #lookUpLater(ms: number, ids: () => readonly string[]): void {
    const at = this.#scene.world.present + ms * 1_000
    const lookUp = () => Promise.all(ids().map((id) => this.#lookUp(id)))
    this.#lookups.push(new Promise((resolve) => this.#fate.at(at, 0, () => resolve(lookUp()))))
  }

  /** Completes the record by what the store knows. */
  async complete(): Promise<void> {
    const until = this.#scene.world.present + NEWS * 1_000
    do await sleep(SOON)
    while (this.#unknown().size > 0 && this.#scene.world.present < until)
    this.#isComplete = true
    await Promise.all(this.#lookups)
    const unheard = this.#isWatching ? this.#unheardTurns() : []
    for (const id of [...unheard, ...this.#unknown()]) await this.#lookUp(id)
  }

  /** Jobs of which no process has written down that they were accepted, or how they ended. */
  #unknown(): ReadonlySet<string> {
    const open = new Set<string>()
    const { plan, record, refused } = this.#scene
    const { seen } = record
    for (const { event } of seen) {
      if (event.type === 'answer' && event.accepted) open.add(event.id)
      if ('id' in event && event.type !== 'answer' && !record.isAnswered(event.id)) open.add(event.id)
    }
    for (const { event } of seen) {
      if (event.type === 'end' && record.isAnswered(event.id)) open.delete(event.id)
    }
    for (const { id } of plan.jobs) if (!record.isAnswered(id) && !refused.has(id)) open.add(id)
    return open
  }

  /** Of jobs that one call admitted, in which order: a part of a microsecond by the position that the store has noted. */
  #placeOf(id: string): number {
    for (let shard = 0; shard < this.#scene.plan.shards; shard++) {
      const answer = this.#scene.command('HGET', `{vr:sim:${shard}}:jobs`, id)
      const record = answer.subarray(answer.indexOf('\r\n') + 2)
      // A job that is not there has an answer without a record.
      if (record.length > POSITION) return Math.min(0.9, record.readUInt32LE(POSITION) / 10_000)
    }
    return 0
  }

  async #lookUp(id: string): Promise<void> {
    const job = await this.ask((shaper) => shaper.job(id))
    const { record } = this.#scene
    if (job === undefined) {
      if (this.#isForgottenEarly(id))
        record.add(undefined, { type: 'end', at: record.lastOf(id), id, outcome: 'completed' })
      return
    }
    const at = record.timeOf(job.admittedAt) + this.#placeOf(id)
    const { key, cost, costs } = job
    const named = { id, key, cost, ...(costs && { costs }) }
    if (!record.isAnswered(id)) {
      record.add(undefined, { type: 'answer', at, ...named, accepted: true, departsAt: at })
    }
    const end = this.#endOf(job)
    if (end !== undefined && !record.hasEnd(id)) record.add(undefined, end)
  }

  /**
   * A turn that ended just before the clock of the store was set forward by more than the store knows it for, while the answer was lost:
   * the end was heard by no process. Had it been lost instead, the audit would count fewer ends; a store that loses what it had counts none.
   */
  #isForgottenEarly(id: string): boolean {
    const { plan, record } = this.#scene
    const isForgotten = plan.faults.some((fault) => fault.kind === 'step' && fault.by >= TURNS_KNOWN_FOR)
    return (
      isForgotten && !plan.faults.some(isLossy) && isTurnId(id) && record.isAnswered(id) && !record.hasEnd(id)
    )
  }

  #endOf({ id, state, endedAt }: JobView) {
    const outcome = OUTCOMES.find((end) => end === state)
    if (outcome === undefined || endedAt === undefined) return undefined
    const { record } = this.#scene
    // Where the clock was set back since its start, the store says that it ended then.
    return { type: 'end', at: Math.max(record.timeOf(endedAt), record.lastOf(id)), id, outcome } as const
  }
}
