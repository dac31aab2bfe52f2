import type { Random } from './random.ts'

/** How long segments travel one way: at least `least`, usually a little more, sometimes much more. Microseconds. */
export interface Delays {
  readonly least: number
  /** The mean of what is added. */
  readonly jitter: number
  /** The share of segments that take up to `spike` longer. */
  readonly spikes: number
  readonly spike: number
}

/** One direction of the way between a process and the server. */
export class Way {
  delays: Delays
  /** Segments do not arrive before; those on their way neither. Then they all come, in order. */
  heldUntil = 0
  readonly #random: Random

  constructor(delays: Delays, random: Random) {
    this.delays = delays
    this.#random = random
  }

  /** How long the next segment takes. */
  delay(): number {
    const { least, jitter, spikes, spike } = this.delays
    const added = -Math.log(1 - this.#random.next()) * jitter
    return least + added + (this.#random.chance(spikes) ? this.#random.next() * spike : 0)
  }

  /** Cuts bytes into segments that travel by themselves. */
  segments(bytes: Buffer, share: number): readonly Buffer[] {
    if (bytes.length < 2 || !this.#random.chance(share)) return [bytes]
    const count = this.#random.between(2, Math.min(4, bytes.length))
    const cuts = new Set<number>()
    while (cuts.size < count - 1) cuts.add(this.#random.between(1, bytes.length - 1))
    const sorted = [0, ...[...cuts].sort((a, b) => a - b), bytes.length]
    return sorted.slice(1).map((end, index) => bytes.subarray(sorted[index]!, end))
  }
}

/** The way between one process and the server, which all connections of the process share. */
export class Link {
  readonly toServer: Way
  readonly toClient: Way
  /** The share of writes that arrive in pieces. */
  splits: number
  /** Connections that are asked for before are refused. */
  refusesUntil = 0

  constructor(there: Delays, back: Delays, splits: number, random: Random) {
    this.toServer = new Way(there, random.fork('there'))
    this.toClient = new Way(back, random.fork('back'))
    this.splits = splits
  }

  /** Nothing arrives until then, in one direction or both; what was sent meanwhile comes afterwards. */
  hold(until: number, direction: 'there' | 'back' | 'both'): void {
    if (direction !== 'back') this.toServer.heldUntil = Math.max(this.toServer.heldUntil, until)
    if (direction !== 'there') this.toClient.heldUntil = Math.max(this.toClient.heldUntil, until)
  }
}
