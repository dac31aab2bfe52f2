import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import type { Audit } from '../../src/conformance/history.ts'
import type { JobView } from '../../src/index.ts'
import { HistoryFile } from '../support/campaign/history-file.ts'
import { hostNow } from '../support/campaign/host-time.ts'
import { recordsIn } from '../support/campaign/judge.ts'
import { withoutEnd } from '../support/campaign/merge-histories.ts'
import { noteFault, noteStop } from '../support/campaign/note-fault.ts'
import { type RedisProcess, startRedis } from '../support/redis-server.ts'
import { TcpProxy } from '../support/tcp-proxy.ts'
import { SoakChild } from './child.ts'
import type { ProcessSample, RedisSample, SoakPlan, SoakSample } from './plan.ts'

export const LIMIT = '60, 10/s'
export const KEYS = ['a', 'b', 'c/x', 'c/y', 'd', 'e'] as const
/** Of the rate of each key. */
const LOAD = 0.7
/** Ended jobs that are kept of each first segment: after the warm-up as many, so that they do not count as growth. */
export const KEEP_FINISHED = 80
const LEASE_MS = 5_000
/** Until what a process had sent when it died has reached the store; milliseconds. */
const ARRIVAL_MS = 1_500

/** The processes of a soak around one Redis, each half of them behind a network of its own. */
export class SoakFleet {
  readonly redis: RedisProcess
  readonly networks: readonly TcpProxy[]
  readonly folder = mkdtempSync(join(tmpdir(), 'velvet-rope-soak-'))
  /** Live through the whole soak; the others are killed and replaced. */
  readonly lasting: SoakChild[] = []
  readonly workers: SoakChild[] = []
  readonly #file = new HistoryFile(join(this.folder, 'soak.jsonl'))
  #count = 0

  private constructor(redis: RedisProcess, networks: readonly TcpProxy[]) {
    this.redis = redis
    this.networks = networks
  }

  static async start(): Promise<SoakFleet> {
    const redis = await startRedis({ port: 'free', appendonly: 'yes', appendfsync: 'everysec' })
    const networks = [await TcpProxy.start(redis.port!), await TcpProxy.start(redis.port!)]
    const fleet = new SoakFleet(redis, networks)
    for (const role of ['operator', 'worker', 'producer'] as const) {
      fleet.lasting.push(await fleet.#start(role, networks[0]!))
    }
    await fleet.addWorker()
    await fleet.addWorker()
    return fleet
  }

  get producer(): SoakChild {
    return this.lasting.find(({ plan }) => plan.role === 'producer')!
  }

  get operator(): SoakChild {
    return this.lasting.find(({ plan }) => plan.role === 'operator')!
  }

  async addWorker(): Promise<void> {
    this.workers.push(await this.#start('worker', this.networks[1]!))
  }

  #start(role: SoakPlan['role'], network: TcpProxy): Promise<SoakChild> {
    const name = `${role}-${this.#count++}`
    return SoakChild.start({
      role,
      name,
      address: network.url,
      prefix: 'soak',
      limit: LIMIT,
      keys: KEYS,
      file: join(this.folder, `${name}.jsonl`),
      keepFinished: KEEP_FINISHED,
      perSecond: LOAD * 10,
    })
  }

  /** SIGKILL, and another in its place. */
  async replace(worker: SoakChild): Promise<void> {
    await worker.kill()
    noteFault(this.#file, { ...worker.plan, worker })
    this.workers.splice(this.workers.indexOf(worker), 1)
    await sleep(ARRIVAL_MS)
    await this.#noteEnds()
    await this.addWorker()
  }

  /** SIGSTOP for so long. */
  async stop(worker: SoakChild, forMs: number): Promise<void> {
    worker.stop()
    const at = hostNow()
    await sleep(forMs)
    noteStop(this.#file, { ...worker.plan, worker }, at, LEASE_MS)
    worker.goOn()
  }

  audit(): Promise<Audit> {
    return this.operator.order({ do: 'audit' })
  }

  /** Lines up no more, and resolves when every admitted job has ended. */
  async drain(withinMs: number): Promise<void> {
    await this.producer.order({ do: 'rest' })
    const until = hostNow() + withinMs * 1_000
    for (;;) {
      const audit = await this.audit().catch(() => undefined)
      if (audit !== undefined && audit.ended === audit.admitted) return
      if (hostNow() > until)
        throw new Error(`expected every job to have ended, got: ${JSON.stringify(audit)}`)
      await sleep(200)
    }
  }

  /** A look at Redis and at every process; what cannot answer now is left out. */
  async sample(at: number, isWhole = false): Promise<SoakSample> {
    const asked = [...this.lasting, ...this.workers].map(async (child) => {
      const sample = await child.order<ProcessSample>({ do: 'sample' }).catch(() => undefined)
      return sample === undefined ? [] : [[child.plan.name, sample] as const]
    })
    const [redis, ...processes] = await Promise.all([this.#sampleRedis(isWhole), ...asked])
    return { at, redis, processes: Object.fromEntries(processes.flat()) }
  }

  async #sampleRedis(isWhole: boolean): Promise<RedisSample | undefined> {
    const client = new Redis(this.redis.url, {
      maxRetriesPerRequest: 0,
      retryStrategy: () => null,
      lazyConnect: true,
    })
    client.on('error', () => undefined)
    try {
      await client.connect()
      const info = await client.info('memory')
      const usedMemory = Number(/used_memory_dataset:(\d+)/.exec(info)?.[1])
      const sample = { usedMemory, keys: await client.dbsize() }
      return isWhole ? { ...sample, byKey: await bytesByKey(client) } : sample
    } catch {
      return undefined
    } finally {
      client.disconnect()
    }
  }

  /** What ended in the store, and no process that lives knows of; asked before it is forgotten there. */
  async #noteEnds(): Promise<void> {
    for (const id of withoutEnd(recordsIn(this.folder))) {
      const job = await this.operator.order<JobView | null>({ do: 'job', id }).catch(() => null)
      if (job?.endedAt === undefined) continue
      const outcome = OUTCOMES.find((end) => end === job.state)
      if (outcome === undefined) continue
      const event = { type: 'end', at: job.endedAt * 1_000, id, outcome } as const
      this.#file.write({ kind: 'event', clock: 'store', event, found: true })
    }
  }

  /** Ends all processes and Redis; what they wrote stays until `remove`. */
  async close(): Promise<void> {
    for (const child of [...this.workers, ...this.lasting]) await child.close()
    for (const network of this.networks) await network[Symbol.asyncDispose]()
    await this.redis.stop()
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true })
  }
}

async function bytesByKey(client: Redis): Promise<Record<string, number>> {
  const names = (await client.keys('*')).toSorted()
  const bytes = await Promise.all(names.map((name) => client.memory('USAGE', name, 'SAMPLES', 0)))
  return Object.fromEntries(names.map((name, index) => [name, bytes[index] ?? 0]))
}

const OUTCOMES = ['completed', 'failed', 'cancelled', 'expired'] as const
