import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pass } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Shaper } from '../../src/index.ts'
import { type Counter, fixedWindow, slidingWindow, tokenBucket } from '../../test/support/strict-counters.ts'
import { startRedis } from './server.ts'
import { monotonicUs, type SetOrder, type Sight, shareOfPlaces } from './set-use.ts'

/**
 * How much of a set of limits three worker processes use on a shared line that is never empty: `tsx bench/redis/sets.ts`. Quotas: another
 * party counts what started by rules of its own; places: handlers of a second each, calm, with a worker that is killed, and with one
 * that stands still for longer than its leases.
 */
const { values: flags } = parseArgs({
  options: {
    only: { type: 'string', default: 'quotas,places' },
    /** What the quotas count. */
    counts: { type: 'string', default: 'calls,tokens' },
    /** Lengths of the windows; seconds. */
    windows: { type: 'string', default: '2,60' },
    /** So many whole windows are measured. */
    count: { type: 'string', default: '4' },
    'places-s': { type: 'string', default: '40' },
    /** So often places are measured. */
    times: { type: 'string', default: '1' },
  },
})
const WORKER = fileURLToPath(new URL('./set-worker.ts', import.meta.url))
const SECOND = 1_000_000
const LEASE_MS = 5_000

interface Fleet {
  readonly producer: Shaper<number, void>
  readonly sights: Sight[]
  readonly workers: ChildProcess[]
  addWorker(): Promise<void>
}

async function withFleet(
  order: Omit<SetOrder, 'address'>,
  act: (fleet: Fleet) => Promise<void>,
): Promise<void> {
  const { address, stop } = await startRedis()
  const workers: ChildProcess[] = []
  const sights: Sight[] = []
  const limits = { '*': order.limit }
  const producer = new Shaper<number, void>('bench', { limits, connection: `unix://${address}` })
  producer.on('error', (error) => console.error(error.message))
  const addWorker = async () => {
    const child = fork(WORKER, [JSON.stringify({ ...order, address })], { execArgv: process.execArgv })
    const worker = workers.push(child) - 1
    child.on('message', (message) => {
      if (message !== 'ready') sights.push({ ...(message as Sight), worker })
    })
    await once(child, 'message')
  }
  try {
    await producer.ready()
    for (let nth = 0; nth < 3; nth++) await addWorker()
    await act({ producer, sights, workers, addWorker })
  } finally {
    for (const child of workers) child.kill('SIGKILL')
    await producer.close({ drainMs: 0 })
    await stop()
  }
}

/** Keeps the line full until the signal is aborted; true while it never ran empty. */
async function keepFull(
  producer: Fleet['producer'],
  tokensOf: ((n: number) => number) | undefined,
  over: AbortSignal,
) {
  let n = 0
  while (!over.aborted) {
    const jobs = Array.from({ length: 20 }, () => {
      const costs = tokensOf === undefined ? {} : { costs: { tokens: tokensOf(n) } }
      return { key: 'k', data: n++, ...costs }
    })
    const answers = await producer.enqueueMany(jobs)
    if (answers.some(({ accepted }) => !accepted)) await pass(100)
  }
}

/** Calls, or tokens of which each call has 1 to 4, by turns. */
async function measureQuota(counts: 'calls' | 'tokens', seconds: number): Promise<void> {
  const amount = seconds * 20
  const length = seconds * SECOND
  const windows = Number(flags.count)
  // The pace is four times what the quota lets start on average.
  const quota = counts === 'calls' ? `${amount}/${seconds}s` : `${amount} tokens/${seconds}s 4 each`
  const order = { limit: `200, 80/s, ${quota}`, takesMs: 0, leaseMs: LEASE_MS, concurrency: 20 }
  await withFleet(order, async ({ producer, sights }) => {
    const over = new AbortController()
    const full = keepFull(producer, counts === 'tokens' ? (n) => 1 + (n % 4) : undefined, over.signal)
    const starts = () => sights.filter(({ what }) => what === 'start').sort((a, b) => a.at - b.at)
    const unitsOf = ({ tokens }: Sight) => (counts === 'calls' ? 1 : tokens)
    const wanted = amount * windows
    while (sights.reduce((sum, sight) => sum + (sight.what === 'start' ? unitsOf(sight) : 0), 0) <= wanted)
      await pass(100)
    // A start is on its way here for a moment.
    await pass(500)
    over.abort()
    await full
    const seen = starts()
    let used = 0
    const next = seen.find((start) => {
      if (used >= wanted) return true
      used += unitsOf(start)
      return false
    })!
    // From the first start to the first that had to wait for room of so many windows.
    const took = next.at - seen[0]!.at
    const counters: [string, Counter][] = [
      ['fixed window', fixedWindow(amount, length)],
      ['fixed window, another phase', fixedWindow(amount, length, length * 0.37)],
      ['sliding window', slidingWindow(amount, length)],
      ['token bucket', tokenBucket(amount, length)],
    ]
    const refusals = counters.map(([name, counter]) => {
      const count = seen.filter((start) => !counter.pass(start.at, unitsOf(start))).length
      return `${name} ${count}`
    })
    const share = ((used / amount / (took / length)) * 100).toFixed(1)
    console.log(
      `| ${amount} ${counts} in ${seconds} s | ${seen.length} | ${share} % | ${refusals.join(', ')} |`,
    )
  })
}

/** Brings a fault about; resolves with when the worker VICTIM fell silent. */
type Disturb = (fleet: Fleet) => Promise<number>

const VICTIM = 1
/** A lease is renewed each third: what a worker runs when it falls silent has its place for so long at the least; microseconds. */
const SURELY_LEASED = (LEASE_MS * 2_000) / 3

const never: Disturb = async () => Number.POSITIVE_INFINITY

const kill: Disturb = async ({ workers, addWorker }) => {
  // Handlers start and end together: at any moment of their second.
  await pass(4_500 + Math.random() * 1_000)
  workers[VICTIM]!.kill('SIGKILL')
  const died = monotonicUs()
  await addWorker()
  return died
}

const stop: Disturb = async ({ workers }) => {
  await pass(4_500 + Math.random() * 1_000)
  workers[VICTIM]!.kill('SIGSTOP')
  const stood = monotonicUs()
  await pass(7_000)
  workers[VICTIM]!.kill('SIGCONT')
  return stood
}

async function measurePlaces(name: string, disturb: Disturb): Promise<void> {
  const places = 8
  const order = {
    limit: `200, 50/s, ${places} at once`,
    takesMs: 1_000,
    leaseMs: LEASE_MS,
    concurrency: places,
  }
  await withFleet(order, async (fleet) => {
    const over = new AbortController()
    const full = keepFull(fleet.producer, undefined, over.signal)
    while (fleet.sights.length < places) await pass(20)
    const from = Math.max(...fleet.sights.slice(0, places).map(({ at }) => at))
    const silentAt = await disturb(fleet)
    await pass(Math.max(0, Number(flags['places-s']) * 1_000 - (monotonicUs() - from) / 1_000))
    const until = monotonicUs()
    over.abort()
    await full
    /** The victim has what it ran when it fell silent for so long. */
    const usedFor = (micros: number) =>
      shareOfPlaces(fleet.sights, places, { from, until }, ({ at, worker }) =>
        worker === VICTIM && at <= silentAt ? silentAt + micros : Number.POSITIVE_INFINITY,
      )
    const percent = ({ share }: { readonly share: number }) => `${(share * 100).toFixed(1)} %`
    const { most } = usedFor(SURELY_LEASED)
    console.log(
      `| ${places} at once, ${name} | ${fleet.sights.length} | ${percent(usedFor(LEASE_MS * 1_000))} | most ${most}; by handlers that live ${percent(usedFor(0))} |`,
    )
  })
}

console.log('| limit | starts | used | refused by, or the most at once |\n|---|--:|--:|---|')
const parts = flags.only.split(',')
if (parts.includes('quotas')) {
  for (const seconds of flags.windows.split(',').map(Number)) {
    for (const counts of ['calls', 'tokens'] as const) {
      if (flags.counts.split(',').includes(counts)) await measureQuota(counts, seconds)
    }
  }
}
if (parts.includes('places')) {
  for (let time = 0; time < Number(flags.times); time++) {
    await measurePlaces('calm', never)
    await measurePlaces('a worker is killed', kill)
    await measurePlaces('a worker stands still for 7 s', stop)
  }
}
process.exit()
