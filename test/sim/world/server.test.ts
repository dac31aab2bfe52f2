import { expect, test } from 'vitest'
import { openStore } from '../open-store.ts'
import { EPOCH } from './process.ts'
import { Random } from './random.ts'
import { SimServer } from './server.ts'
import { PHASES, World } from './world.ts'

const SECOND = 1_000_000

/** A server whose clock was set, each time at a time of the world and by so much. */
function serverWith(steps: readonly (readonly [at: number, by: number])[]): SimServer<unknown> {
  const world = new World(new Random(1))
  const store = { connect: () => undefined as never, snapshot: () => undefined, restart: () => undefined }
  const server = new SimServer(world, () => store)
  for (const [at, by] of steps) {
    world.now = at
    server.step(by)
  }
  return server
}

test('what the clock of the server said is when it last said so', () => {
  const server = serverWith([[10 * SECOND, -3 * SECOND]])
  expect(server.worldTime(EPOCH + 5 * SECOND)).toBe(5 * SECOND)
  expect(server.worldTime(EPOCH + 8 * SECOND)).toBe(11 * SECOND)
  expect(server.worldTime(EPOCH + 8 * SECOND, 9 * SECOND)).toBe(8 * SECOND)
})

test('of two times at which a clock that was set back says the same, the one counts at which the store heard it', async () => {
  const world = new World(new Random(1))
  const server = new SimServer(world, openStore)
  const connection = server.store.connect()
  let said = 0
  connection.onBytes((bytes) => {
    const [, seconds, rest] = /\$\d+\r\n(\d+)\r\n\$\d+\r\n(\d+)/.exec(bytes.toString()) ?? []
    said = Number(seconds) * SECOND + Number(rest)
  })
  server.process.at(8 * SECOND, PHASES.io, () => connection.receive(Buffer.from('TIME\r\n')))
  server.process.at(10 * SECOND, PHASES.io, () => {
    server.step(-3 * SECOND)
    world.end()
  })
  await world.run(20 * SECOND, 10)
  expect(server.worldTime(said, 20 * SECOND)).toBe(said - EPOCH)
  expect(server.worldTime(said - 10, 20 * SECOND)).toBe(said - 10 - EPOCH + 3 * SECOND)
})

test('an estimate that is ahead of a clock that was set back means now', () => {
  const server = serverWith([[10 * SECOND, -3 * SECOND]])
  const now = 20 * SECOND
  expect(server.worldTime(EPOCH + 17 * SECOND + 640, now)).toBe(now)
})

test('an estimate of a process that does not know yet that the clock was set forward means its own time', () => {
  const server = serverWith([[10 * SECOND, 3_600 * SECOND]])
  expect(server.worldTime(EPOCH + 10.2 * SECOND, 10.5 * SECOND)).toBe(10.2 * SECOND)
})

test('of commands that arrive together each is later than the one before it', () => {
  const server = new SimServer(new World(new Random(1)), openStore)
  const answers: string[] = []
  const connection = server.store.connect()
  connection.onBytes((bytes) => answers.push(bytes.toString()))
  connection.receive(Buffer.from('TIME\r\n'.repeat(50)))
  const times = [...answers.join('').matchAll(/\$(\d+)\r\n(\d+)\r\n\$\d+\r\n(\d+)\r\n/g)]
  const microseconds = times.map(([, , seconds, rest]) => Number(seconds) * SECOND + Number(rest))
  expect(microseconds).toHaveLength(50)
  expect(new Set(microseconds).size).toBe(50)
})
