import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { type RedisCluster, startCluster } from '../../redis-cluster.ts'
import { RedisProcess } from '../../redis-process.ts'
import { TcpProxy } from '../../tcp-proxy.ts'
import { type ClockShim, MovableClock } from '../clock-shim.ts'
import type { StorePlan } from './plan.ts'

/** The Redis of a run, whatever it is made of. */
export class SeededStore {
  readonly master: RedisProcess
  readonly cluster: RedisCluster | undefined
  readonly clock: MovableClock | undefined
  readonly #replica: { readonly server: RedisProcess; readonly link: TcpProxy } | undefined
  #isPromoted = false

  private constructor(
    master: RedisProcess,
    parts: {
      cluster?: RedisCluster
      clock?: MovableClock | undefined
      replica?: { readonly server: RedisProcess; readonly link: TcpProxy }
    } = {},
  ) {
    this.master = master
    this.cluster = parts.cluster
    this.clock = parts.clock
    this.#replica = parts.replica
  }

  /** @param folder for the files of moved clocks */
  static async start(plan: StorePlan, folder: string, shim: ClockShim | undefined): Promise<SeededStore> {
    if (plan.kind === 'cluster') {
      const cluster = await startCluster()
      return new SeededStore(cluster.servers[0]!, { cluster })
    }
    if (plan.kind === 'replicated') return SeededStore.#startReplicated(plan, folder, shim)
    const clock = shim && new MovableClock(shim, `${folder}/clock`)
    const appends =
      plan.fsync === 'none' ? ({} as const) : ({ appendonly: 'yes', appendfsync: plan.fsync } as const)
    const env = clock === undefined ? {} : { env: clock.env }
    // Microseconds for each command.
    const load = plan.loadMs === undefined ? {} : { config: { 'key-load-delay': `${plan.loadMs}` } }
    return new SeededStore(await RedisProcess.start({ port: 'free', ...appends, ...load, ...env }), { clock })
  }

  static async #startReplicated(
    { skewMs }: StorePlan & { kind: 'replicated' },
    folder: string,
    shim: ClockShim | undefined,
  ): Promise<SeededStore> {
    const master = await RedisProcess.start({ port: 'free', config: { 'repl-diskless-sync-delay': '0' } })
    const link = await TcpProxy.start(master.port!)
    const clock =
      skewMs === 0 || shim === undefined ? undefined : new MovableClock(shim, `${folder}/clock`, skewMs)
    const env = clock === undefined ? {} : { env: clock.env }
    const server = await RedisProcess.start({
      port: 'free',
      config: { replicaof: `127.0.0.1 ${link.port}` },
      ...env,
    })
    await withClient(server, async (client) => {
      while (!(await client.info('replication')).includes('master_link_status:up')) await sleep(20)
    })
    return new SeededStore(master, { replica: { server, link } })
  }

  get live(): RedisProcess {
    return this.#isPromoted ? this.#replica!.server : this.master
  }

  /** Commands for the Redis that lives, sent directly. */
  command<Answer>(act: (client: Redis) => Promise<Answer>): Promise<Answer> {
    return withClient(this.live, act)
  }

  /** The replica hears nothing any more. */
  cutReplica(): void {
    this.#replica!.link.weather = { isBlackHole: 'back' }
  }

  /** The master dies; the replica is there and refuses writes. */
  async loseMaster(): Promise<void> {
    await this.master.kill()
    this.#isPromoted = true
  }

  /** The replica takes the place of the master. */
  async promote(): Promise<void> {
    await this.command((client) => client.call('REPLICAOF', 'NO', 'ONE'))
  }

  async stop(): Promise<void> {
    await this.#replica?.link[Symbol.asyncDispose]()
    await this.#replica?.server.stop()
    if (this.cluster === undefined) await this.master.stop()
    else await this.cluster.stop()
  }
}

async function withClient<Answer>(
  { port }: RedisProcess,
  act: (client: Redis) => Promise<Answer>,
): Promise<Answer> {
  const client = new Redis({ port: port!, host: '127.0.0.1', retryStrategy: () => 50 })
  client.on('error', () => undefined)
  try {
    return await act(client)
  } finally {
    client.disconnect()
  }
}
