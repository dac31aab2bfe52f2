import '../world/patch.ts'
import { subscribe } from 'node:diagnostics_channel'
import { setTimeout as sleep } from 'node:timers/promises'
import { Shaper } from '../../../src/index.ts'
import { openStore } from '../open-store.ts'
import { Network } from '../world/network.ts'
import { Random } from '../world/random.ts'
import { SimServer } from '../world/server.ts'
import { World } from '../world/world.ts'

/**
 * How long jobs of one first segment wait beside another whose handlers do not end, in virtual time and in milliseconds: `stuck SEED
 * WORKERS KEYS`. One worker of all has seen the first before. And how fast many segments with short handlers are: `many SEED WORKERS
 * SEGMENTS HANDLER_MS`. Prints JSON.
 */
const [mode = 'stuck', ...rest] = process.argv.slice(2)
const [seed = 1, workers = 2, keys = 100, handlerMs = 20] = rest.map(Number)
const HANDLERS = 4
const QUICK = 30
const EVERY_MS = 100
const JOBS = 1_000
const SECOND_MS = 1_000

const random = new Random(seed)
const world = new World(random)
const server = new SimServer(world, openStore)
const way = { least: 100, jitter: 100, spikes: 0, spike: 0 }
new Network(server, { there: way, back: way, splits: 0 })
const errors: string[] = []
const starts = new Map<string, number>()
let handed = 0
let ended = 0
let releasedAt = Number.POSITIVE_INFINITY
subscribe('velvet-rope:handoff', (message) => {
  handed += (message as { jobs: number }).jobs
})

function open(): Shaper<number, void> {
  const shaper = new Shaper<number, void>('sim', {
    connection: { host: 'redis', port: 6379 },
    limits: { '*': '100000, 1000/s', slow: '9, 100/s', quick: '1000, 100/s' },
  })
  shaper.on('error', (error) => void errors.push(error.message))
  return shaper
}

function work(shaper: Shaper<number, void>): void {
  const handler = async ({ key, id }: { key: string; id: string }) => {
    starts.set(id, world.present)
    if (mode === 'many') await sleep(handlerMs)
    // Those of a segment that is stuck end together.
    if (key.startsWith('slow/')) while (world.present < releasedAt) await sleep(10)
    ended++
  }
  shaper.work(handler, { concurrency: HANDLERS })
}

const ms = (from: number, to: number) => (to - from) / 1_000

async function enqueueAll(shaper: Shaper<number, void>, keyOf: (n: number) => string, count: number) {
  for (let from = 0; from < count; from += 200) {
    const some = Array.from({ length: Math.min(200, count - from) }, (_, n) => from + n)
    await shaper.enqueueMany(some.map((n) => ({ key: keyOf(n), data: n })))
  }
}

async function stuck(producer: Shaper<number, void>) {
  await producer.enqueue('quick', 0, { id: 'first' })
  await sleep(SECOND_MS)
  await enqueueAll(producer, (n) => `slow/${n}`, keys)
  await sleep(2 * SECOND_MS)
  const held = starts.size - 1
  const before = [handed, starts.size, world.present] as const
  const sent: number[] = []
  for (let n = 0; n < QUICK; n++) {
    sent.push(world.present)
    await producer.enqueue('quick', n, { id: `q${n}` })
    await sleep(EVERY_MS)
  }
  const returns = handed - before[0] - (starts.size - before[1])
  const perSecond = returns / (ms(before[2], world.present) / SECOND_MS)
  const until = world.present + 5_000_000
  while (world.present < until && sent.some((_, n) => !starts.has(`q${n}`))) await sleep(20)
  const waits = sent
    .map((at, n) => ms(at, starts.get(`q${n}`) ?? Number.POSITIVE_INFINITY))
    .sort((a, b) => a - b)
  releasedAt = world.present
  while (ended < keys + QUICK + 1 && world.present < releasedAt + 60_000_000) await sleep(20)
  return {
    p50: waits[QUICK / 2 - 1],
    p90: waits[QUICK * 0.9 - 1],
    max: waits.at(-1),
    held,
    returnsPerSecond: Math.round(perSecond),
    drainMs: ms(releasedAt, world.present),
  }
}

async function many(producer: Shaper<number, void>) {
  const begun = world.present
  await enqueueAll(producer, (n) => `t${n % keys}`, JOBS)
  while (ended < JOBS) await sleep(5)
  return {
    perSecond: JOBS / (ms(begun, world.present) / SECOND_MS),
    returnsPerJob: (handed - JOBS) / JOBS,
  }
}

for (let n = 1; n <= workers; n++) {
  const own = world.spawn(`worker-${n}`)
  own.at(0, 0, () => work(open()))
}
const producing = world.spawn('producer')
producing.at(SECOND_MS * 1_000, 0, () => {
  const run = mode === 'many' ? many : stuck
  run(open())
    .then((figures) => console.log(JSON.stringify({ ...figures, errors: errors.length })))
    .catch((error: unknown) => console.log(String(error)))
    .finally(() => world.end())
})
await world.run(600_000_000, 50_000_000)
process.exit()
