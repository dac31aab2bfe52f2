import { setTimeout as sleep } from 'node:timers/promises'
import type { Audit } from '../../../src/conformance/history.ts'
import { isVelvetRopeError, type JobView, type Shaper } from '../../../src/index.ts'
import { isTurnId } from '../../support/turn-id.ts'
import type { SimProcess } from '../world/process.ts'
import type { Payload, Scene } from './scene.ts'

/** How often it looks whether all is done; milliseconds. */
const EVERY = 250
/** Until what a process had sent when it died has reached the store; milliseconds. */
const ARRIVAL = 400
const NEWS = 1_500
const OUTCOMES = ['completed', 'failed', 'cancelled', 'expired'] as const

/**
 * A process with a way to the store that no fault touches. It knows when all is done, and asks the store for what no process
 * lived to write down.
 */
export class Oracle {
  readonly process: SimProcess
  readonly #scene: Scene
  readonly #shaper: Shaper<Payload>
  readonly #lookups: Promise<void>[] = []

  constructor(scene: Scene, shaper: Shaper<Payload>, process: SimProcess) {
    this.#scene = scene
    this.#shaper = shaper
    this.process = process
  }

  /** Asks until the store answers. */
  async ask<Answer>(question: (shaper: Shaper<Payload>) => Promise<Answer>): Promise<Answer> {
    for (;;) {
      try {
        return await question(this.#shaper)
      } catch (error) {
        if (!isVelvetRopeError(error, 'backend-unavailable')) throw error
        await sleep(EVERY)
      }
    }
  }

  /** Resolves when every job that was accepted has ended and nobody waits for an answer. */
  async rest(isDone: () => boolean): Promise<Audit> {
    for (;;) {
      await sleep(EVERY)
      if (!isDone()) continue
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
    this.process.at(this.#scene.world.present + ARRIVAL * 1_000, 0, () => {
      for (const id of open) this.#lookups.push(this.#lookUp(id))
    })
  }

  /** A turn ended elsewhere, of which nobody wrote down that it was admitted. */
  searchTurn(id: string): void {
    if (!this.#scene.record.isAnswered(id))
      this.process.at(this.#scene.world.present, 0, () => void this.#lookups.push(this.#lookUp(id)))
  }

  /** Completes the record by what the store knows. */
  async complete(): Promise<void> {
    // Processes that live hear of the last ends first.
    await sleep(NEWS)
    await Promise.all(this.#lookups)
    const open = new Set<string>()
    const { seen } = this.#scene.record
    for (const { event } of seen) {
      if (event.type === 'answer' && event.accepted) open.add(event.id)
      if ('id' in event && event.type !== 'answer' && !this.#scene.record.isAnswered(event.id))
        open.add(event.id)
    }
    for (const { event } of seen) {
      if (event.type === 'end' && this.#scene.record.isAnswered(event.id)) open.delete(event.id)
    }
    for (const { id } of this.#scene.plan.jobs) {
      if (!this.#scene.record.isAnswered(id)) open.add(id)
    }
    for (const id of open) await this.#lookUp(id)
  }

  async #lookUp(id: string): Promise<void> {
    const job = await this.ask((shaper) => shaper.job(id))
    if (job === undefined) return
    const { record } = this.#scene
    const at = record.timeOf(job.admittedAt)
    const { key, cost } = job
    if (!record.isAnswered(id)) {
      record.add(undefined, { type: 'answer', at, id, key, cost, accepted: true, departsAt: at })
    }
    const end = this.#endOf(job)
    const isKnown = record.seen.some(({ event }) => event.type === 'end' && event.id === id)
    if (end !== undefined && !isKnown) record.add(undefined, end)
  }

  #endOf({ id, state, endedAt }: JobView) {
    const outcome = OUTCOMES.find((end) => end === state)
    if (outcome === undefined || endedAt === undefined) return undefined
    return { type: 'end', at: this.#scene.record.timeOf(endedAt), id, outcome } as const
  }
}
