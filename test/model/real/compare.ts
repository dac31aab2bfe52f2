import type { World } from '../actors/world.ts'
import { isEnded } from '../store/leave.ts'
import { returned, waitingUnits } from '../store/line.ts'
import { BACK, GRANTED, HANDED, KIND_NAMES, RETRY, RUNNING, type Shard, STATE_NAMES } from '../store/shard.ts'
import { countsLoss, quotasOf } from '../store/usage.ts'
import type { StoreView, Texts } from './view.ts'

/** How the model's names and numbers are written in the real store. */
export interface Names {
  readonly ids: readonly string[]
  /** The instant, in microseconds, that is `ticks` after now. */
  instant(ticks: number): number
  epoch(job: number, epoch: number): number | undefined
  worker(name: number): string | undefined
  scheduler(name: number): string | undefined
}

/** In microseconds: a month of 1970. */
const LONG_AGO = 2.6e12

/** The first difference between the model and the store; undefined: there is none. */
export function differenceFrom(
  world: Pick<World, 'shard' | 'ends'>,
  view: StoreView,
  names: Names,
): string | undefined {
  const compare = new Comparison(world, names)
  compare.bucket(world.shard, view)
  compare.quotas(world.shard, view)
  compare.meta(world.shard, view)
  for (const job of names.ids.keys()) compare.job(world.shard, job, view.jobs[names.ids[job]!])
  return compare.difference
}

export class Comparison {
  readonly #world: Pick<World, 'ends'>
  readonly #names: Names
  difference: string | undefined

  constructor(world: Pick<World, 'ends'>, names: Names) {
    this.#world = world
    this.#names = names
  }

  /** What counts in quotas, each entry of it. The store keeps what has ended, until a step of its clock would have been reported. */
  quotas(shard: Shard, { quotas }: StoreView): void {
    // Of an idle bucket the model counts a loss when it is used again, and the store when it is read, as here.
    if (shard.bucket.exists === 0 || !countsLoss(shard)) return
    const tick = this.#names.instant(1) - this.#names.instant(0)
    const past = shard.use.remembered
    const counts = (entry: string) => Number.parseFloat(entry) > this.#names.instant(0)
    for (const [parts, isPast] of [[quotasOf(shard.limit), false] as const, [past, true] as const]) {
      const found = quotas.filter((one) => one.isPast === isPast)
      this.same(isPast ? 'remembered' : 'quotas', parts.length, found.length)
      for (const part of parts) {
        const name = `${part.each === undefined ? 'units' : 'tokens'} per ${part.window * tick}`
        const entries = shard.use
          .of(part)
          .entries()
          .filter(([end]) => end > 0)
        const model = entries.map(([end, used]) => `${this.#names.instant(end)} ${used}`)
        const own = found.find((one) => one.name === name)
        this.same(`quota of ${name}`, model.join(), own?.entries.filter(counts).join())
      }
    }
  }

  bucket(shard: Shard, { bucket, lists }: StoreView): void {
    const model = shard.bucket
    this.same('bucket exists', model.exists, bucket === undefined ? 0 : 1)
    if (bucket === undefined) return
    const { ids } = this.#names
    const members = (jobs: readonly number[]) => jobs.map((job) => memberOf(shard, ids, job)).join()
    this.same('line', members(shard.line.toArray()), lists.line.join())
    this.same('handed', members(shard.handed.toArray()), lists.handed.join())
    this.same('retry', members(returned(shard, RETRY)), lists.retry.join())
    this.same('back', members(returned(shard, BACK)), lists.back.join())
    this.same('waiting', waitingUnits(shard), Number(bucket['waiting']))
    this.same('granted', model.granted === 0 ? '' : ids[model.granted - 1], bucket['granted'])
    for (const name of ['paused', 'lastCost', 'startedCost', 'linesTurn'] as const) {
      this.same(name, model[name], Number(bucket[name]))
    }
    for (const name of ['next', 'from', 'lastStart', 'due'] as const) this.time(name, model[name], bucket)
    if (model.granted !== 0) this.time('grantedSlot', model.grantedSlot, bucket)
    if (model.frozen > 0) this.time('frozen', model.frozen, bucket)
    else this.same('frozen', Number(bucket['frozen']) > this.#names.instant(0), false)
  }

  meta(shard: Shard, { meta }: StoreView): void {
    const model = shard.meta
    this.time('heardAt', model.heardAt, meta)
    for (const name of ['quarantine', 'lostAt'] as const) this.time(name, model[name], meta)
    const leader = model.leader === 0 ? '' : this.#names.scheduler(model.leader)
    if (leader !== undefined) this.same('leader', leader, meta['leader'])
    this.same('costliest', model.costliest, Number(meta['costliest']))
  }

  job(shard: Shard, job: number, found: Texts | undefined): void {
    const model = shard.jobs[job]!
    const name = `job ${this.#names.ids[job]}`
    this.same(`${name}: state`, STATE_NAMES[model.state], found?.['state'] ?? 'absent')
    if (found === undefined) return
    const { state } = model
    this.same(`${name}: crashes`, model.crashes, Number(found['crashes']))
    this.same(`${name}: attempt`, model.attempt, Number(found['attempt']))
    if (!isEnded(model)) this.same(`${name}: kind`, KIND_NAMES[model.kind], found['kind'])
    this.same(`${name}: epoch`, this.#names.epoch(job, model.epoch) ?? 0, Number(found['epoch']))
    this.time('lease', model.lease, found, name)
    this.time('expiry', model.expiry, found, name)
    if (isEnded(model)) this.time('endedAt', model.endedAt, found, name)
    if (state === RUNNING) {
      this.time('departedAt', model.departedAt, found, name)
      this.same(`${name}: isSettled`, model.isSettled, Number(found['isSettled']))
      const [, charged = '0'] = found['charged']!.split(' ')
      this.same(`${name}: charged`, model.charged, Number(charged))
    }
    if (state === HANDED || state === GRANTED) this.time('floor', model.floor, found, name)
    if (state !== GRANTED) return
    this.time('slot', model.slot, found, name)
    this.same(`${name}: onGrid`, model.isOnGrid, Number(found['onGrid']))
    const worker = this.#names.worker(model.worker)
    if (worker !== undefined) this.same(`${name}: worker`, worker, found['worker'])
  }

  time(field: string, ticks: number, found: Texts, of = ''): void {
    const { never, far } = this.#world.ends
    const stored = numberOf(found[field]!)
    // The store takes 0 for a freeze that never was; what is counted from it lies in 1970.
    const isNever = stored < LONG_AGO
    const what = of === '' ? field : `${of}: ${field}`
    if (ticks < never / 2 || isNever) this.same(what, ticks < never / 2, isNever)
    else if (ticks === far || stored === Number.POSITIVE_INFINITY) {
      this.same(what, ticks === far, stored === Number.POSITIVE_INFINITY)
    } else if (Math.abs(this.#names.instant(ticks) - stored) > 2) {
      this.same(
        what,
        ticks,
        (stored - this.#names.instant(0)) / (this.#names.instant(1) - this.#names.instant(0)),
      )
    }
  }

  same(what: string, model: unknown, store: unknown): void {
    if (model === store || this.difference !== undefined) return
    this.difference = `${what}: ${String(model)} in the model, ${String(store)} in the store`
  }
}

function memberOf(shard: Shard, ids: readonly string[], job: number): string {
  const cost = shard.cost(job)
  return cost === 1 ? ids[job]! : `${ids[job]} ${cost}`
}

/** As Lua writes it. */
function numberOf(text: string): number {
  return text.endsWith('inf') ? Number(text.replace('inf', 'Infinity')) : Number(text)
}
