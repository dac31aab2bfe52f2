import { type ShapedWorker, Shaper, type ShaperOptions } from '../../../src/index.ts'
import { knownScripts } from '../known-scripts.ts'
import type { Fault, Refusal } from '../plan/fault.ts'
import type { JobPlan, Plan } from '../plan/plan.ts'
import { totalsAtFirst } from '../plan/total-plan.ts'
import type { SimRedis } from '../store/sim-redis.ts'
import type { Network } from '../world/network.ts'
import type { SimProcess } from '../world/process.ts'
import type { SimServer } from '../world/server.ts'
import type { World } from '../world/world.ts'
import type { Silence, Struck } from './faults.ts'
import { limitOf } from './limit-of.ts'
import { Recorder } from './recorder.ts'

/** As Redis 7.0 words them. */
const REFUSALS = {
  READONLY: "READONLY You can't write against a read only replica.",
  NOREPLICAS: 'NOREPLICAS Not enough good replicas to write.',
} as const

/** What a job carries. */
export interface Payload {
  readonly id: string
  readonly pad: string
  readonly odd: readonly unknown[]
}

/** All that actors share: the world, its store, the plan, and the record of what happens. */
export class Scene {
  readonly world: World
  readonly server: SimServer<unknown>
  readonly network: Network
  readonly plan: Plan
  readonly record: Recorder
  /** The process that plays each part now. */
  readonly cast = new Map<string, SimProcess>()
  readonly shapers = new Map<SimProcess, Shaper<Payload>>()
  /** The worker of each process that has one; the last, where one closed before. */
  readonly workers = new Map<SimProcess, ShapedWorker>()
  readonly firstStarts = new Set<string>()
  /** Requests that were accepted, or refused for good, as far as their producers know. An id may be asked for again. */
  readonly answered = new Set<JobPlan>()
  /** Jobs that were refused by the last answer that their producers got: the store has none of them. */
  readonly refused = new Set<string>()
  /**
   * The processes that wait for turns, or for answers to what they enqueue, each as often as it waits: one that closes asks beside the one
   * that took its part.
   */
  readonly calling = new Set<{ readonly process: SimProcess }>()
  readonly silences: Silence[] = []
  readonly struck: Struck[] = []
  /** When it was not known whether an operation had been carried out. */
  readonly unsure: { readonly from: number; readonly until: number }[] = []
  /** When all faults that have struck so far are over; microseconds. */
  healedAt = 0
  /** All is done: nothing goes wrong any more. */
  isOver = false
  readonly closings = new Map<SimProcess, Promise<void>>()
  /** Processes that were closed before all was done, and when. */
  readonly leaving = new Map<string, number>()
  /** Called when a process was killed, and when a turn has ended. */
  onKilled: (process: SimProcess) => void = () => undefined
  onTurnEnd: (id: string) => void = () => undefined
  /** Called when a caller has no turn, and may not have heard whether it was admitted. */
  onTurnUnheard: () => void = () => undefined
  /** Called when a handler ends its process. */
  onExit: (process: SimProcess, id: string) => void = () => undefined
  readonly exits: string[] = []
  /** What the server had at a moment to which a fault brings it back. */
  readonly #snapshots = new Map<Fault, unknown>()

  constructor(world: World, server: SimServer<unknown>, network: Network, plan: Plan) {
    this.world = world
    this.server = server
    this.network = network
    this.plan = plan
    this.record = new Recorder(world, server, (id) => this.onTurnEnd(id))
    if (plan.hasScripts === true) (server.store as SimRedis).server.scripts.remember(knownScripts())
  }

  /** Starts a process that plays a part, now. */
  enter(part: string, main: (shaper: Shaper<Payload>, process: SimProcess) => void): SimProcess {
    const process = this.world.spawn(part)
    process.clocks = this.plan.clocks[part] ?? { offset: 0, drift: 0 }
    this.cast.set(part, process)
    process.at(this.world.present, 0, () => {
      const shaper = new Shaper<Payload>('sim', this.#options(part))
      this.shapers.set(process, shaper)
      this.record.watch(shaper, process)
      main(shaper, process)
    })
    return process
  }

  /** Lets a process end in its own time. */
  close(process: SimProcess, drain?: number): void {
    if (this.closings.has(process)) return
    if (!this.isOver) this.leaving.set(process.name, this.world.present)
    const closing = new Promise<void>((resolve) => {
      process.at(this.world.present, 0, () => {
        const options = drain === undefined ? {} : { drainMs: drain }
        const closed = this.shapers.get(process)?.close(options) ?? Promise.resolve()
        closed.then(resolve, (error: unknown) => process.onUncaught(error))
      })
    })
    this.closings.set(process, closing)
  }

  /** How often the job has ended its process. */
  exitsSoFar(id: string): number {
    return this.exits.filter((other) => other === id).length
  }

  isClosing(process: SimProcess): boolean {
    return this.closings.has(process)
  }

  /** A command of an operator's own, beside all processes; it takes no time. Returns the bytes of the answer. */
  command(...words: readonly string[]): Buffer {
    const connection = this.server.store.connect()
    const answer: Buffer[] = []
    connection.onBytes((bytes) => void answer.push(bytes))
    const parts = words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`)
    const { server } = this.server.store as SimRedis
    const { isLoading, refusal } = server
    // It is not refused, whatever the server answers to others.
    Object.assign(server, { isLoading: false, refusal: undefined })
    connection.receive(Buffer.from(`*${words.length}\r\n${parts.join('')}`))
    Object.assign(server, { isLoading, refusal })
    connection.close()
    return Buffer.concat(answer)
  }

  /** Lets the server refuse from now on; undefined: no more. */
  refuseWrites(says: Refusal | undefined): void {
    const { server } = this.server.store as SimRedis
    server.isLoading = says === 'LOADING'
    server.refusal = says === 'READONLY' || says === 'NOREPLICAS' ? REFUSALS[says] : undefined
  }

  /** Sets the data of the server aside at each moment to which a fault will bring it back. */
  keepSnapshots(fate: SimProcess): void {
    for (const fault of this.plan.faults) {
      if (fault.kind !== 'restart' || typeof fault.keeps === 'string') continue
      const at = Math.max(0, fault.at - fault.keeps.butLast) * 1_000
      fate.at(at, 0, () => this.#snapshots.set(fault, this.server.store.snapshot()))
    }
  }

  /** What was set aside for the fault. */
  snapshotFor(fault: Fault): unknown {
    return this.#snapshots.get(fault) ?? 'empty'
  }

  #options(part: string): ShaperOptions {
    const { keys, shards } = this.plan
    const totals = totalsAtFirst(this.plan)
    return {
      connection: { host: 'redis', port: 6379 },
      shards,
      limits: Object.fromEntries([...keys, ...totals].map((plan) => [plan.key, limitOf(plan)] as const)),
      limitsBy: part,
      jobDefaults: { keepFinished: this.plan.keepFinished },
    }
  }
}

/** What encodings change where they are not careful. */
const AWKWARD = ['é\u0301', '\u0000', '"\\', '\u2028', '😀', '</script>', '\r\n', '%E2', '$-1'] as const

/** The data of a job: its own, awkward, and as many bytes as planned, about. */
export function payloadOf(id: string, bytes: number): Payload {
  const own = [...id].reduce((sum, letter) => (sum * 31 + letter.codePointAt(0)!) % 999_983, 7)
  const awkward = AWKWARD[own % AWKWARD.length]!
  const pad = bytes === 0 ? '' : `${awkward}${id}`.repeat(3) + 'x'.repeat(bytes)
  return { id, pad, odd: [[], {}, null, own / 7, 2 ** 53 - own, -0.1, awkward, { [awkward]: [] }] }
}
