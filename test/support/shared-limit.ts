import { type FairChild, FairQueue } from '../../src/core/fair-queue.ts'

/** A child with a line of jobs; a limit of its own may hold it back after each departure. */
export class LineOfChild implements FairChild {
  handle = -1
  weight: number
  tag = 0
  standing: FairChild['standing'] = 'gone'
  readonly jobs: number[] = []
  /** Time between two of its departures, by its own limit. */
  interval: number
  next = 0
  /** What has departed, and when. */
  readonly departures: { readonly at: number; readonly cost: number }[] = []

  constructor({ weight = 1, interval = 0 }: { readonly weight?: number; readonly interval?: number } = {}) {
    this.weight = weight
    this.interval = interval
  }

  get served(): number {
    return this.departures.reduce((sum, { cost }) => sum + cost, 0)
  }
}

/** A limit of one unit per unit of time that children share, in virtual time. */
export class SharedLimit {
  readonly queue = new FairQueue<LineOfChild>()
  now = 0
  #next = 0

  enqueue(child: LineOfChild, ...costs: number[]): void {
    const hadNone = child.jobs.length === 0
    child.jobs.push(...costs)
    if (!hadNone || costs.length === 0) return
    if (this.#next <= this.now) this.queue.rest()
    this.queue.join(child, child.jobs[0]!)
    if (child.next > this.now) this.queue.hold(child, child.next)
  }

  /** Lets those go on whose own limits allow it by now. */
  wake(): void {
    while (this.queue.laterAt <= this.now) this.queue.release(this.queue.nextLater!)
  }

  /** Lets the child whose turn it is depart, if there is one and the limit has room; returns it. */
  departOne(): LineOfChild | undefined {
    this.wake()
    const child = this.#next <= this.now ? this.queue.next : undefined
    if (child === undefined) return undefined
    const cost = child.jobs.shift()!
    this.queue.serve(child, cost)
    child.departures.push({ at: this.now, cost })
    this.#next = this.now + cost
    child.next = this.now + child.interval * cost
    if (child.jobs.length === 0) this.queue.leave(child)
    else if (child.next > this.now) this.queue.hold(child, child.next)
    return child
  }

  /** One unit of time after another, until then. */
  run(until: number, each: (departed: LineOfChild | undefined) => void = () => {}): void {
    for (; this.now < until; this.now++) each(this.departOne())
  }
}
