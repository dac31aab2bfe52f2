import { isVelvetRopeError, ShaperClosedError } from '../core/errors.ts'
import { toError } from '../core/thrown.ts'
import type { Connection } from './connection/connection.ts'
import { commandWithin, noAnswer, patiently } from './connection/patience.ts'
import { type Probe, probe } from './connection/probe.ts'
import type { RedisBackend } from './redis-backend.ts'
import type { ReplacedLayer } from './rules/stored-book.ts'

/** What is opened: a line, or the levels of meters. */
type Openable = Pick<RedisBackend, 'durability' | 'open'>

const TRY_AGAIN_AFTER_MS = 500
const READY_WITHIN_MS = 1_800

export interface OpeningPorts<Line> {
  readonly name: string
  readonly connection: Connection
  /** What is opened when Redis has been found fit. */
  readonly backend: Line
  /** How long to wait for the connection, of the two seconds for all. Default: 1.8. */
  readonly readyWithinMs?: number
  readonly onConnected: (probe: Probe) => void
  /** The limits of this process have replaced others. */
  readonly onReplaced?: (layer: ReplacedLayer) => void
  /** Something that does not keep the line from being used. */
  readonly onWarning: (error: Error) => void
}

/** Opens a line: connects to Redis, checks that it is fit, and fetches the rule book. Nothing is done before that. */
export class Opening<Line extends Openable = Openable> {
  readonly #ports: OpeningPorts<Line>
  #underWay: Promise<void> | undefined
  #isOpen = false
  #isClosed = false
  #timer: NodeJS.Timeout | undefined
  #watched: unknown

  constructor(ports: OpeningPorts<Line>) {
    this.#ports = ports
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  /**
   * Resolves when it is open.
   *
   * @throws BackendUnavailableError within two seconds, UnfitRedisError or ForeignValueError; the next call tries again, or
   * joins the try that still goes on
   */
  ready(): Promise<void> {
    this.#underWay ??= this.#open().catch((error: unknown) => {
      this.#underWay = undefined
      throw error
    })
    const opened = this.#underWay
    return this.#isOpen ? opened : patiently(() => opened)
  }

  /**
   * Calls `work` as soon as it is open. The opening takes nothing from its time: a long list may need more than two seconds, while
   * Redis answers. @throws as `ready` does
   */
  async begin<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    if (!this.#isOpen) await this.ready()
    return work()
  }

  /** Calls `question` as soon as it is open: both together take two seconds at most. @throws as `ready` does */
  ask<Answer>(question: () => Promise<Answer>): Promise<Answer> {
    if (this.#isOpen) return question()
    return patiently(async (isOver) => {
      await this.ready()
      // The caller has got an error and may have asked again.
      if (isOver()) throw noAnswer()
      return question()
    })
  }

  /** Calls `callback` once it is open, however long Redis is away. Why Redis is unfit is reported, and tried again. */
  whenOpen(callback: () => void): void {
    this.ready().then(
      () => {
        if (!this.#isClosed) callback()
      },
      (thrown: unknown) => {
        if (this.#isClosed) return
        const error = toError(thrown)
        // The connection itself has reported an outage.
        if (!isVelvetRopeError(error, 'backend-unavailable')) this.#ports.onWarning(error)
        this.#timer = setTimeout(() => this.whenOpen(callback), TRY_AGAIN_AFTER_MS)
      },
    )
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }

  async #open(): Promise<void> {
    const { name, connection, backend, onConnected, onReplaced, onWarning } = this.#ports
    const { readyWithinMs = READY_WITHIN_MS } = this.#ports
    if (this.#isClosed) throw new ShaperClosedError(name)
    await connection.ready(readyWithinMs)
    const found = await commandWithin(probe(connection.commands))
    backend.durability = found.durability
    try {
      for (const layer of await backend.open()) onReplaced?.(layer)
    } catch (error) {
      if (!isVelvetRopeError(error, 'old-rule-book')) throw error
      onWarning(error)
    }
    this.#isOpen = true
    onConnected(found)
    this.#watched ??= connection.commands.on('ready', () => void this.#probeAgain())
  }

  /** Probes again: another Redis may be behind the same address now. One that is not fit closes the line for new requests. */
  async #probeAgain(): Promise<void> {
    const { connection, backend, onConnected, onWarning } = this.#ports
    if (this.#isClosed || !this.#isOpen) return
    try {
      const found = await commandWithin(probe(connection.commands))
      backend.durability = found.durability
      onConnected(found)
    } catch (thrown) {
      const error = toError(thrown)
      if (this.#isClosed || !isVelvetRopeError(error, 'unfit-redis')) return
      this.#isOpen = false
      this.#underWay = undefined
      onWarning(error)
    }
  }
}
