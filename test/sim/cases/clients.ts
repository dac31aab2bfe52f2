import '../world/patch.ts'
import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { Network } from '../world/network.ts'
import { Random } from '../world/random.ts'
import { SimServer } from '../world/server.ts'
import { World } from '../world/world.ts'
import { TinyStore } from './tiny-store.ts'

// Three processes with a client each, through cuts, resets, a kill and a stop. It prints what each saw, to the last digit.
const seed = Number(process.argv[2])
const lines: string[] = []

const random = new Random(seed)
const world = new World(random)
const server = new SimServer(world, (host) => new TinyStore(host))
const way = { least: 100, jitter: 50, spikes: 0.1, spike: 20_000 }
const network = new Network(server, { there: way, back: way, splits: 0.3 })

async function main(name: string): Promise<void> {
  const client = new Redis({ host: 'redis', retryStrategy: () => 50 + Math.random() * 100 })
  client.on('error', (error) => lines.push(`${name} ${error.message}`))
  for (let n = 0; n < 40; n++) {
    const sent = performance.timeOrigin + performance.now()
    const text = await Promise.race([
      client.incr('n').then(String, String),
      sleep(3_000, 'no answer', { ref: false }),
    ])
    const took = performance.timeOrigin + performance.now() - sent
    lines.push(
      `${name} ${Date.now()} ${sent} ${took} ${text} ${randomUUID()} ${randomBytes(3).toString('hex')}`,
    )
    await sleep(20)
  }
  await client.blpop('never', 0.5)
  lines.push(`${name} waited until ${new Date().toISOString()} ${process.hrtime.bigint()}`)
  client.disconnect()
}

const fate = world.spawn('fate')
const processes = ['a', 'b', 'c'].map((name, index) => {
  const own = world.spawn(name)
  own.clocks = { offset: 1_000_000 * index, drift: 30 * index }
  own.at(0, 0, () => void main(name).catch((error: unknown) => lines.push(String(error))))
  return own
})
fate.at(300_000, 0, () => network.link(processes[0]!).hold(2_000_000, 'back'))
fate.at(500_000, 0, () => {
  for (const connection of network.connections(processes[1])) connection.reset(world.present)
})
fate.at(700_000, 0, () => processes[1]!.stop(700_000))
fate.at(900_000, 0, () => {
  processes[2]!.kill()
  network.bury(processes[2]!, 'process')
})
fate.at(1_200_000, 0, () => server.step(-300_000))
fate.at(30_000_000, 0, () => world.end())
await world.run(60_000_000, 1_000_000)
console.log(lines.join('\n'))
console.log(
  `${world.events} events, pending: ${process
    .getActiveResourcesInfo()
    .filter((kind) => !/Pipe|TTY|FS|Tick|Immediate/.test(kind))
    .join()}`,
)
