import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { startCluster } from '../../test/support/redis-cluster.ts'
import { RedisInfo } from '../redis/info.ts'
import { startRedis } from '../redis/server.ts'
import { asMarkdown } from '../report/table.ts'
import { median, sum } from '../statistics.ts'
import type { ScaleOrder, ScaleQuestion, ScaleState } from './scale-process.ts'

/**
 * How many jobs a second get from producers to handlers in other processes, and the processor time of each part, by number of producers,
 * workers and shards: `npm run build`, then `tsx bench/scale/scale.ts`. Several shards are on a cluster of three nodes.
 */
const { values: flags } = parseArgs({
  options: {
    jobs: { type: 'string', default: '20000' },
    keys: { type: 'string', default: '10000' },
    rounds: { type: 'string', default: '3' },
    /** Jobs of one call; 1: singly, 64 in flight of each producer. */
    'per-call': { type: 'string', default: '200' },
    /** Producers, workers and shards of each row. */
    shapes: { type: 'string', default: '1/1/1,1/2/1,1/4/1,2/2/1,1/1/4,2/4/4' },
  },
})
const PROCESS = fileURLToPath(new URL('./scale-process.ts', import.meta.url))

interface Shape {
  readonly producers: number
  readonly workers: number
  readonly shards: number
}

const SHAPES = flags.shapes.split(',').map((text): Shape => {
  const [producers, workers, shards] = text.split('/').map(Number)
  if (!producers || !workers || !shards) throw new Error(`expected producers/workers/shards, got: ${text}`)
  return { producers, workers, shards }
})

/** Processor time in microseconds for each job. */
interface Sample {
  readonly perSecond: number
  readonly redis: number
  readonly worker: number
  readonly producer: number
}

async function open(order: ScaleOrder): Promise<ChildProcess> {
  const child = fork(PROCESS, [JSON.stringify(order)], { execArgv: process.execArgv })
  await once(child, 'message')
  return child
}

async function ask<Answer>(child: ChildProcess, question: ScaleQuestion): Promise<Answer> {
  const answer = once(child, 'message')
  child.send(question)
  return (await answer)[0] as Answer
}

const statesOf = (children: readonly ChildProcess[]) =>
  Promise.all(children.map((child) => ask<ScaleState>(child, 'state')))
const cpuOf = (states: readonly ScaleState[]) => sum(states.map(({ cpu }) => cpu))

async function openStore(shards: number) {
  if (shards === 1) {
    const { address, stop } = await startRedis()
    return { address, infos: [new RedisInfo(address)], stop }
  }
  const { nodes, stop } = await startCluster()
  return {
    address: nodes,
    infos: nodes.map(({ host, port }) => new RedisInfo(`redis://${host}:${port}`)),
    stop,
  }
}

async function measure({ producers, workers, shards }: Shape): Promise<Sample> {
  const { address, infos, stop } = await openStore(shards)
  const order = { address, shards, keys: Number(flags.keys), perCall: Number(flags['per-call']) }
  const opened = (role: ScaleOrder['role'], count: number) =>
    Promise.all(Array.from({ length: count }, () => open({ ...order, role })))
  const [bringing, working] = [await opened('producer', producers), await opened('worker', workers)]
  const redisCpu = async () => sum(await Promise.all(infos.map((info) => info.cpuSeconds())))
  let total = 0
  const run = async (jobs: number) => {
    const each = Math.ceil(jobs / producers)
    await Promise.all(bringing.map((child, n) => ask(child, { hand: each, from: total + n * each })))
    total += each * producers
    while (sum((await statesOf(working)).map(({ started }) => started)) < total) await soon()
  }
  await run(Number(flags.jobs) / 10)
  const [redis, worker, producer] = [
    await redisCpu(),
    cpuOf(await statesOf(working)),
    cpuOf(await statesOf(bringing)),
  ]
  const from = performance.now()
  const before = total
  await run(Number(flags.jobs))
  const seconds = (performance.now() - from) / 1_000
  const jobs = total - before
  const perJob = (cpu: number) => (cpu * 1e6) / jobs
  const sample = {
    perSecond: jobs / seconds,
    redis: perJob((await redisCpu()) - redis),
    worker: perJob(cpuOf(await statesOf(working)) - worker),
    producer: perJob(cpuOf(await statesOf(bringing)) - producer),
  }
  for (const child of [...bringing, ...working]) child.disconnect()
  for (const info of infos) info.close()
  await stop()
  return sample
}

/** Workers are asked so seldom that it costs them little. */
const soon = () => new Promise((resolve) => setTimeout(resolve, 20))

const samples = SHAPES.map((): Sample[] => [])
for (let round = 0; round < Number(flags.rounds); round++) {
  for (const [n, shape] of SHAPES.entries()) samples[n]!.push(await measure(shape))
}
const middle = (n: number, figure: keyof Sample) => median(samples[n]!.map((sample) => sample[figure]))
const whole = (value: number) => Math.round(value).toLocaleString('en')
console.log(
  asMarkdown({
    title: `End to end: ${whole(Number(flags.keys))} keys, ${flags['per-call']} jobs a call, medians of ${flags.rounds} rounds`,
    columns: [
      'producers',
      'workers',
      'shards',
      'jobs/s',
      'beside the first',
      'us of Redis per job',
      'us of workers per job',
      'us of producers per job',
    ],
    rows: SHAPES.map(({ producers, workers, shards }, n) => [
      `${producers}`,
      `${workers}`,
      `${shards}`,
      whole(middle(n, 'perSecond')),
      `${(middle(n, 'perSecond') / middle(0, 'perSecond')).toFixed(2)}x`,
      whole(middle(n, 'redis')),
      whole(middle(n, 'worker')),
      whole(middle(n, 'producer')),
    ]),
    notes: [],
  }),
)
process.exit()
