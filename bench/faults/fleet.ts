import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { RedisProcess } from '../../test/support/redis-process.ts'
import { TcpProxy } from '../../test/support/tcp-proxy.ts'
import type { ProcessOrder } from './product-process.ts'
import type { FaultProduct } from './products.ts'
import { readRecord, type Sighting } from './record.ts'

const PROGRAM = fileURLToPath(new URL('./product-process.ts', import.meta.url))

export interface Member {
  readonly process: ChildProcess
  readonly network: TcpProxy
  readonly record: string
}

/** A product in a producer and two workers, each behind a network of its own, on one Redis that syncs each write. */
export class Fleet {
  readonly redis: RedisProcess
  readonly workers: Member[] = []
  readonly #folder: string
  readonly #members: Member[] = []
  readonly #product: FaultProduct
  readonly #takesMs: number
  #producer: Member | undefined

  private constructor(redis: RedisProcess, product: FaultProduct, takesMs: number) {
    this.redis = redis
    this.#product = product
    this.#takesMs = takesMs
    this.#folder = mkdtempSync(join(tmpdir(), 'velvet-rope-faults-'))
  }

  static async start(product: FaultProduct, takesMs: number): Promise<Fleet> {
    const redis = await RedisProcess.start({ port: 'free', appendonly: 'yes', appendfsync: 'always' })
    const fleet = new Fleet(redis, product, takesMs)
    for (let n = 0; n < 2; n++) await fleet.addWorker()
    if (!product.isLocal) fleet.#producer = await fleet.#add(false)
    return fleet
  }

  async addWorker(): Promise<void> {
    this.workers.push(await this.#add(true))
  }

  /** Jobs in a burst; where they live in the processes that accept them, each worker gets every other. */
  enqueue(ids: readonly number[]): void {
    if (this.#producer !== undefined) this.#producer.process.send(ids)
    else for (const [n, { process }] of this.workers.entries()) process.send(ids.filter((id) => id % 2 === n))
  }

  sightings(): Sighting[] {
    return this.#members.flatMap(({ record }) => readRecord(record)).sort((a, b) => a.at - b.at)
  }

  async close(): Promise<void> {
    for (const { process, network } of this.#members) {
      process.kill('SIGCONT')
      process.kill('SIGKILL')
      await network[Symbol.asyncDispose]()
    }
    await this.redis.stop()
    rmSync(this.#folder, { recursive: true })
  }

  async #add(works: boolean): Promise<Member> {
    const network = await TcpProxy.start(this.redis.port!)
    const record = join(this.#folder, `${this.#members.length}.jsonl`)
    writeFileSync(record, '')
    const { name: product } = this.#product
    const order: ProcessOrder = { product, address: network.url, record, works, takesMs: this.#takesMs }
    const member = { process: fork(PROGRAM, [JSON.stringify(order)]), network, record }
    this.#members.push(member)
    await once(member.process, 'message')
    return member
  }
}
