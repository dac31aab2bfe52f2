import type { Weather } from '../../tcp-proxy.ts'
import { PRODUCER_POINTS, WORKER_POINTS } from '../code-points.ts'
import type { Means } from './draw-plan.ts'
import type { Draws } from './draws.ts'
import type { Armed, Crash, Fault, Role, SeededPlan, StorePlan } from './plan.ts'

/** A class of faults: what a run is about. */
export interface Subject {
  readonly name: string
  /** How often it is drawn beside the others. */
  readonly weight: number
  readonly needs?: keyof Means
  draw(draws: Draws): Pick<SeededPlan, 'store' | 'faults'> & { readonly armed?: readonly Armed[] }
}

const CRASHES: readonly Crash[] = ['exception', 'heap', 'SIGSEGV']
const DURABLE: StorePlan = { kind: 'single', fsync: 'always' }
/** Faults begin when the first jobs have started, and end while there is work; milliseconds. */
const soon = (draws: Draws) => draws.between(300, 2_500)
const whom = (draws: Draws): { role: Role; nth: number } =>
  draws.hits(0.75)
    ? { role: 'worker', nth: draws.between(0, 1) }
    : { role: 'producer', nth: draws.between(0, 1) }

export const SUBJECTS: readonly Subject[] = [
  { name: 'killed processes', weight: 3, draw: drawKills },
  { name: 'crashed processes', weight: 2, draw: drawCrashes },
  { name: 'stopped processes', weight: 2, draw: drawStops },
  { name: 'points of the code', weight: 5, draw: drawPoints },
  { name: 'bad network', weight: 5, draw: drawNetwork },
  { name: 'lost fetch replies', weight: 2, draw: drawLostFetches },
  { name: 'Redis killed, always', weight: 2, draw: (draws) => drawRedisKill(draws, 'always') },
  { name: 'Redis killed, everysec', weight: 2, draw: (draws) => drawRedisKill(draws, 'everysec') },
  { name: 'Redis killed, no file', weight: 1, draw: (draws) => drawRedisKill(draws, 'none') },
  { name: 'power lost', weight: 1, draw: (draws) => drawLostWrites(draws, 0, 2_000) },
  { name: 'old copy', weight: 1, draw: (draws) => drawLostWrites(draws, 3_000, 6_000) },
  { name: 'Redis stopped', weight: 1, draw: drawRedisStop },
  { name: 'scripts flushed', weight: 1, draw: drawFlush },
  { name: 'memory full', weight: 1, draw: drawMemory },
  { name: 'Redis loading', weight: 1, draw: drawLoading },
  { name: 'no replicas', weight: 1, draw: drawNoReplicas },
  { name: 'disk failing', weight: 1, needs: 'hasStrace', draw: drawDisk },
  { name: 'clock moved', weight: 3, needs: 'hasClockShim', draw: drawClock },
  { name: 'failover', weight: 2, draw: drawFailover },
  { name: 'failover to another clock', weight: 1, needs: 'hasClockShim', draw: drawSkewedFailover },
  { name: 'failover, read-only first', weight: 1, draw: drawReadOnly },
  { name: 'resharding', weight: 2, draw: drawReshard },
]

function several(draws: Draws, most: number, one: () => Fault): Fault[] {
  return Array.from({ length: draws.between(1, most) }, one)
}

function drawKills(draws: Draws) {
  const faults = several(draws, 2, (): Fault => {
    return { do: 'kill', atMs: soon(draws), ...whom(draws), replace: draws.hits(0.7) }
  })
  return { store: DURABLE, faults }
}

function drawCrashes(draws: Draws) {
  const faults = several(draws, 2, (): Fault => {
    return { do: 'crash', atMs: soon(draws), ...whom(draws), how: draws.pick(CRASHES) }
  })
  return { store: DURABLE, faults }
}

function drawStops(draws: Draws) {
  const faults = several(draws, 6, (): Fault => {
    return { do: 'stop', atMs: soon(draws), ...whom(draws), forMs: draws.between(10, 500) }
  })
  if (draws.hits(0.3)) {
    const forMs = draws.between(5_500, 7_000)
    faults.push({ do: 'stop', atMs: soon(draws), role: 'worker', nth: 0, forMs })
  }
  return { store: DURABLE, faults }
}

function drawPoints(draws: Draws) {
  const role: Role = draws.hits(0.85) ? 'worker' : 'producer'
  const armed = Array.from({ length: draws.between(1, 2) }, (_, nth): Armed => {
    const point = draws.pick(role === 'worker' ? WORKER_POINTS : PRODUCER_POINTS)
    const then = draws.hits(0.6) ? 'SIGKILL' : 'SIGSTOP'
    const forMs = draws.hits(0.5) ? draws.between(20, 600) : draws.between(5_500, 7_000)
    return { role, nth, point: { point, count: draws.between(1, 25), then }, forMs }
  })
  return { store: DURABLE, armed, faults: [] }
}

function drawNetwork(draws: Draws) {
  const faults = several(draws, 3, (): Fault => {
    const where = { atMs: soon(draws), ...whom(draws) }
    if (draws.hits(0.15)) return { do: 'reset', ...where }
    if (draws.hits(0.35)) {
      const arriving = draws.pick([0, 0, 1, 7, 40])
      return { do: 'lose replies', ...where, arriving, times: draws.between(1, 4) }
    }
    return { do: 'weather', ...where, forMs: draws.between(200, 2_500), weather: drawWeather(draws) }
  })
  return { store: DURABLE, faults: faults.filter(isFirstOfItsVictim) }
}

/** Two outages of one process in a row could outlast its leases, which a single one does not. */
function isFirstOfItsVictim(fault: Fault, index: number, all: readonly Fault[]): boolean {
  const victimOf = (one: Fault) => ('role' in one ? `${one.role} ${one.nth}` : '')
  return all.findIndex((one) => victimOf(one) === victimOf(fault)) === index
}

function drawWeather(draws: Draws): Weather {
  const delay = draws.between(5, 80)
  const long = draws.between(300, 900)
  return draws.pick<Weather>([
    { thereMs: delay, backMs: delay },
    { thereMs: delay },
    { backMs: delay },
    { thereMs: long },
    { backMs: long },
    { isBlackHole: true },
    { isBlackHole: 'there' },
    { isBlackHole: 'back' },
    { inBytes: true },
  ])
}

/** A reply of BullMQ's fetch names the job, which is then its only trace outside Redis. */
function drawLostFetches(draws: Draws) {
  const faults = several(draws, 2, (): Fault => {
    const nth = draws.between(0, 1)
    const times = draws.between(1, 10)
    return {
      do: 'lose replies',
      atMs: soon(draws),
      role: 'worker',
      nth,
      match: 'moveToActive',
      arriving: 0,
      times,
    }
  })
  return { store: DURABLE, faults }
}

function drawRedisKill(draws: Draws, fsync: 'always' | 'everysec' | 'none') {
  const awayMs = draws.pick([draws.between(50, 600), draws.between(2_200, 3_500)])
  const faults: Fault[] = [{ do: 'kill redis', atMs: soon(draws), awayMs }]
  if (draws.hits(0.4)) faults.push({ do: 'kill', atMs: soon(draws), role: 'worker', nth: 1, replace: true })
  return { store: { kind: 'single', fsync } as const, faults }
}

/** The file ends in the middle of a command, or between two. */
function drawLostWrites(draws: Draws, least: number, most: number) {
  const lastMs = draws.between(least, most)
  const bytes = draws.pick([0, draws.between(1, 200)])
  const awayMs = draws.between(50, 600)
  const faults: Fault[] = [{ do: 'lose writes', atMs: soon(draws), lastMs, bytes, awayMs }]
  return { store: { kind: 'single', fsync: 'everysec' } as const, faults }
}

function drawRedisStop(draws: Draws) {
  const faults: Fault[] = [{ do: 'stop redis', atMs: soon(draws), forMs: draws.pick([200, 900, 3_000]) }]
  return { store: DURABLE, faults }
}

function drawFlush(draws: Draws) {
  const faults: Fault[] = [{ do: 'flush scripts', atMs: soon(draws), forMs: draws.between(500, 2_500) }]
  return { store: DURABLE, faults }
}

function drawMemory(draws: Draws) {
  const faults: Fault[] = [{ do: 'fill memory', atMs: soon(draws), forMs: draws.between(500, 2_500) }]
  return { store: DURABLE, faults }
}

function drawDisk(draws: Draws) {
  const error = draws.pick(['EIO', 'ENOSPC'] as const)
  const faults: Fault[] = [{ do: 'fail disk', atMs: soon(draws), forMs: draws.between(300, 1_500), error }]
  const fsync = draws.pick(['always', 'everysec'] as const)
  return { store: { kind: 'single', fsync } as const, faults }
}

/** Its file is read so slowly that clients are answered LOADING. */
function drawLoading(draws: Draws) {
  const store = { kind: 'single', fsync: 'always', loadMs: draws.pick([300, 1_000, 2_000]) } as const
  const awayMs = draws.between(50, 300)
  return { store, faults: [{ do: 'kill redis', atMs: draws.between(1_200, 2_500), awayMs } as const] }
}

function drawNoReplicas(draws: Draws) {
  const faults: Fault[] = [{ do: 'lack replicas', atMs: soon(draws), forMs: draws.between(300, 2_500) }]
  return { store: DURABLE, faults }
}

const STEPS_MS = [-86_400_000, -60_000, -3_000, -200, 150, 240, 1_000, 60_000, 86_400_000] as const

function drawClock(draws: Draws) {
  const faults = several(draws, 2, (): Fault => {
    return { do: 'move clock', atMs: soon(draws), byMs: draws.pick(STEPS_MS) }
  })
  if (draws.hits(0.3)) faults.push({ do: 'kill', atMs: soon(draws), role: 'worker', nth: 1, replace: true })
  return { store: DURABLE, faults }
}

function drawFailover(draws: Draws, skewMs = 0) {
  const store = { kind: 'replicated', behindMs: draws.pick([0, 1_000]), skewMs } as const
  return { store, faults: [{ do: 'fail over', atMs: draws.between(1_200, 2_500) } as const] }
}

function drawSkewedFailover(draws: Draws) {
  return drawFailover(draws, draws.pick([-30_000, 30_000]))
}

/** The name leads to the replica before it takes writes. */
function drawReadOnly(draws: Draws) {
  const readOnlyMs = draws.pick([200, 1_000, 2_500])
  const store = { kind: 'replicated', behindMs: draws.pick([0, 1_000]), skewMs: 0, readOnlyMs } as const
  return { store, faults: [{ do: 'fail over', atMs: draws.between(1_200, 2_500) } as const] }
}

function drawReshard(draws: Draws) {
  const shards = draws.pick([1, 3])
  const shard = draws.between(0, shards - 1)
  const pauseMs = draws.pick([0, 20, 100])
  const faults: Fault[] = [{ do: 'reshard', atMs: soon(draws), shard, step: draws.between(1, 20), pauseMs }]
  if (draws.hits(0.3)) faults.push({ do: 'kill', atMs: soon(draws), role: 'worker', nth: 1, replace: true })
  return { store: { kind: 'cluster', shards } as const, faults }
}
