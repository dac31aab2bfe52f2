import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { shardTag } from '../../../../src/redis/scripts/keys.ts'
import { recount } from '../../recount.ts'
import type { RedisProcess } from '../../redis-process.ts'
import { hostNow } from '../host-time.ts'

/** What BullMQ keeps of a queue that is empty. Its lists and sets exist only while something is in them. */
const KEPT = ['meta', 'id', 'events', 'marker', 'pc', 'limiter', 'stalled', 'stalled-check']
const PAGE = 1_000
/** A delivery whose worker died is fetched again at most 15 s later; milliseconds. */
const CLEAN_MS = 90_000
const LOOK_EVERY_MS = 200

/** Where the shards of one shaper are. */
export interface Place {
  /** Every server that may hold a shard. */
  readonly servers: readonly Pick<RedisProcess, 'port'>[]
  readonly prefix: string
  readonly shards: number
}

/** The shards of a run, whose shaper has this name in every process. */
const tagsOf = ({ prefix, shards }: Place) =>
  Array.from({ length: shards }, (_, shard) => shardTag(prefix, 'campaign', shard))

async function withServers<Answer>(
  { servers }: Place,
  act: (server: Redis) => Promise<readonly Answer[]>,
): Promise<Answer[]> {
  const answers: Answer[] = []
  for (const { port } of servers) {
    const server = new Redis({ port: port!, host: '127.0.0.1', retryStrategy: () => 50 })
    server.on('error', () => undefined)
    try {
      answers.push(...(await act(server)))
    } finally {
      server.disconnect()
    }
  }
  return answers
}

/** What is left in BullMQ: with every job at its end it leaks. */
export async function deliveriesIn(place: Place): Promise<string[]> {
  const heads = tagsOf(place).map((tag) => `${tag}:rope:`)
  return withServers(place, async (server) => {
    const found: string[] = []
    for await (const page of server.scanStream({ match: '*:rope:*', count: PAGE })) {
      for (const name of page.map(String)) {
        const head = heads.find((head) => name.startsWith(head))
        const rest = name.slice(head?.length)
        if (head !== undefined && !KEPT.includes(rest) && !rest.startsWith('metrics')) found.push(name)
      }
    }
    return found
  })
}

/** Resolves with what is left in BullMQ although its workers had the time to clean up; they must be alive. */
export async function leakedDeliveries(place: Place, withinMs = CLEAN_MS): Promise<string[]> {
  const until = hostNow() + withinMs * 1_000
  for (;;) {
    const left = await deliveriesIn(place)
    if (left.length === 0) return []
    if (hostNow() > until) return left.map((name) => `a delivery is left in BullMQ: ${name}`)
    await sleep(LOOK_EVERY_MS)
  }
}

/** What does not add up in the line: counters against lists, lists against states. Nothing may be under way. */
export async function recountAll(place: Place): Promise<string[]> {
  return withServers(place, async (server) => {
    const found: string[] = []
    for (const tag of tagsOf(place)) {
      if (!(await holds(server, `${tag}:meta`))) continue
      found.push(...(await recount(server, tag)).map((fault) => `recount of ${tag}: ${fault}`))
    }
    return found
  })
}

/** A server of a cluster refuses questions about keys that are not its own. */
async function holds(server: Redis, name: string): Promise<boolean> {
  try {
    return (await server.exists(name)) === 1
  } catch (error) {
    if (String(error).includes('MOVED')) return false
    throw error
  }
}
