import { Redis } from 'ioredis'
import type { RedisCluster } from './redis-cluster.ts'

/** Moves one slot of a cluster by hand, key by key, as `redis-cli --cluster reshard` does, and stops anywhere between. */
export class SlotMigration {
  readonly slot: number
  readonly #nodes: readonly Redis[]
  readonly #from: Redis
  readonly #to: Redis
  readonly #target: number

  private constructor(slot: number, nodes: readonly Redis[], from: Redis, to: Redis, target: number) {
    this.slot = slot
    this.#nodes = nodes
    this.#from = from
    this.#to = to
    this.#target = target
  }

  /** Marks the slot of `key` as moving. */
  static async begin(cluster: RedisCluster, key: string): Promise<SlotMigration> {
    const nodes = cluster.nodes.map(({ host, port }) => new Redis({ host, port }))
    const slot = Number(await nodes[0]!.cluster('KEYSLOT', key))
    const ids = await Promise.all(nodes.map(async (node) => String(await node.cluster('MYID'))))
    const owners = await Promise.all(nodes.map((node) => owns(node, slot)))
    const source = owners.indexOf(true)
    const target = (source + 1) % nodes.length
    await nodes[target]!.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', ids[source]!)
    await nodes[source]!.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', ids[target]!)
    return new SlotMigration(slot, nodes, nodes[source]!, nodes[target]!, cluster.nodes[target]!.port)
  }

  /** Names of keys that have not moved. */
  left(most: number): Promise<string[]> {
    return this.#from.cluster('GETKEYSINSLOT', this.slot, most) as Promise<string[]>
  }

  async move(names: readonly string[]): Promise<void> {
    if (names.length === 0) return
    await this.#from.call('MIGRATE', '127.0.0.1', this.#target, '', 0, 10_000, 'KEYS', ...names)
  }

  /** Moves what is left, `step` keys at a time, and tells every node which one owns the slot now. */
  async finish(step = 500): Promise<void> {
    for (let names = await this.left(step); names.length > 0; names = await this.left(step))
      await this.move(names)
    const owner = String(await this.#to.cluster('MYID'))
    for (const node of [this.#to, this.#from, ...this.#nodes])
      await node.call('CLUSTER', 'SETSLOT', this.slot, 'NODE', owner)
  }

  /** Gives up where it stands: each node keeps what it has. */
  async abandon(): Promise<void> {
    for (const node of [this.#from, this.#to]) await node.call('CLUSTER', 'SETSLOT', this.slot, 'STABLE')
  }

  [Symbol.dispose](): void {
    for (const node of this.#nodes) node.disconnect()
  }
}

async function owns(node: Redis, slot: number): Promise<boolean> {
  const own = String(await node.cluster('NODES'))
    .split('\n')
    .find((line) => line.includes('myself'))!
  return own
    .split(' ')
    .slice(8)
    .some((range) => {
      const [first, last = first] = range.split('-').map(Number)
      return slot >= first! && slot <= last!
    })
}
