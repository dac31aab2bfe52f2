import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { KEYS, LIMIT, type SoakFleet } from './fleet.ts'

type Fault = (fleet: SoakFleet, between: (least: number, most: number) => number) => Promise<void>

/** What happens to a fleet, one every half minute. Each is over, and what it changed is changed back, when it resolves. */
export const FAULTS: Readonly<Record<string, Fault>> = {
  'a worker is killed': (fleet, between) =>
    fleet.replace(fleet.workers[between(0, fleet.workers.length - 1)]!),
  'a worker is stopped': (fleet, between) =>
    fleet.stop(fleet.workers[between(0, fleet.workers.length - 1)]!, between(500, 8_000)),
  'the network of half of the processes is cut': async ({ networks }, between) => {
    const network = networks[between(0, networks.length - 1)]!
    network.cut()
    // Shorter than what is left of a lease in any case.
    await sleep(between(300, 1_800))
    network.mend()
  },
  'all networks are cut': async ({ networks }, between) => {
    for (const network of networks) network.cut()
    await sleep(between(500, 5_000))
    for (const network of networks) network.mend()
  },
  'Redis is restarted': ({ redis }) => redis.restart(),
  'all scripts are flushed': async ({ redis }) => {
    const client = new Redis(redis.url)
    await client.script('FLUSH')
    client.disconnect()
  },
  'the limit is changed and changed back': async ({ operator }, between) => {
    await operator.order({ do: 'limit', limit: `60, ${between(4, 40)}/s` })
    await sleep(between(1_000, 6_000))
    await operator.order({ do: 'limit', limit: LIMIT })
  },
  'a key is frozen': ({ operator }, between) =>
    operator.order({ do: 'freeze', key: KEYS[between(0, KEYS.length - 1)]!, forMs: between(200, 4_000) }),
}
