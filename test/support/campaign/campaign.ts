import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Audit } from '../../../src/core/conformance/history.ts'
import { parseLimit } from '../../../src/core/limit.ts'
import type { JobView } from '../../../src/index.ts'
import type { CheckOptions, HistoryEvent } from '../../../src/testing.ts'
import { type RedisProcess, type RedisSettings, startRedis, uniquePrefix } from '../redis-server.ts'
import { CampaignChild } from './child.ts'
import { HistoryFile, type HistoryRecord } from './history-file.ts'
import { hostNow } from './host-time.ts'
import { judge, recordsIn, type Verdict } from './judge.ts'
import { runningIn, withoutEnd } from './merge-histories.ts'
import type { ProducerPlan, WorkerPlan } from './plans.ts'

/** How long before its slot a job may be handed over; microseconds. */
const FARTHEST_LOOK_AHEAD = 250_000
/** Jobs of a key that may have left the line while a process dies. */
const STARTING = 2

/** Who takes part. Each producer and each worker is a process; without Redis there is one, which is both. */
export interface CampaignPlan {
  readonly limit: string
  readonly keys: readonly string[]
  readonly producers: readonly ProducerPlan[]
  readonly workers: readonly WorkerPlan[]
  readonly redis: RedisSettings | 'none'
}

/** Many processes around one line: each writes down what it does, and all of it is judged as one history. */
export class Campaign {
  readonly producers: CampaignChild[] = []
  readonly workers: CampaignChild[] = []
  readonly #plan: CampaignPlan
  readonly #redis: RedisProcess | undefined
  readonly #folder = mkdtempSync(join(tmpdir(), 'velvet-rope-campaign-'))
  readonly #prefix = uniquePrefix()
  readonly #file: HistoryFile
  #lostProcess = false
  #keepsFiles = false

  private constructor(plan: CampaignPlan, redis: RedisProcess | undefined) {
    this.#plan = plan
    this.#redis = redis
    this.#file = new HistoryFile(this.#path('campaign'))
  }

  /** Resolves when every process is ready; producers have begun by then. */
  static async start(plan: CampaignPlan): Promise<Campaign> {
    const campaign = new Campaign(plan, plan.redis === 'none' ? undefined : await startRedis(plan.redis))
    try {
      if (plan.redis === 'none') await campaign.#addSingle(plan)
      else await campaign.#addFleet(plan)
      return campaign
    } catch (error) {
      await campaign[Symbol.asyncDispose]()
      throw error
    }
  }

  get redis(): RedisProcess {
    if (this.#redis === undefined) throw new Error('expected a campaign with Redis, it has none')
    return this.#redis
  }

  async addProducer(producer: ProducerPlan): Promise<CampaignChild> {
    const child = this.#add(`producer-${this.producers.length}`, { producer })
    this.producers.push(child)
    await child.said('ready')
    return child
  }

  async addWorker(worker: WorkerPlan): Promise<CampaignChild> {
    const child = this.#add(`worker-${this.workers.length}`, { worker })
    this.workers.push(child)
    await child.said('ready')
    return child
  }

  /** SIGKILL. What it ran is due to start once more; what it held may lose its place. */
  async kill(child: CampaignChild): Promise<void> {
    await child.kill()
    this.#lostProcess = true
    this.#noteFault(child)
  }

  /** SIGSTOP for so long; a fault if that is longer than its leases. */
  async stop(child: CampaignChild, forMs: number): Promise<void> {
    await child.stop()
    if (forMs >= (child.plan.worker?.leaseMs ?? Number.POSITIVE_INFINITY)) this.#noteFault(child)
    await sleep(forMs)
    child.goOn()
  }

  /** Lets a process end in its own time. */
  async close(child: CampaignChild): Promise<void> {
    const complaint = await child.close()
    if (complaint !== undefined) throw new Error(`${child.name} did not close: ${complaint}`)
    for (const list of [this.producers, this.workers])
      if (list.includes(child)) list.splice(list.indexOf(child), 1)
  }

  /** Another limit for every key, from now on. */
  async setLimit(limit: string): Promise<void> {
    await this.#operator.order({ do: 'limit', limit })
  }

  /** Writes an event into the history that none of the processes knows of. */
  note(event: HistoryEvent): void {
    this.#write({ kind: 'event', clock: 'host', event })
  }

  /** Resolves when every producer is done and every admitted job has ended. @throws Error with all that is known */
  async rest(withinMs: number): Promise<void> {
    const until = hostNow() + withinMs * 1_000
    const left = () => Math.max(1, Math.ceil((until - hostNow()) / 1_000))
    try {
      await Promise.all(this.producers.map((child) => child.said('done', { withinMs: left() })))
      for (;;) {
        // A store that has just come back may have to be asked twice.
        const audit = await this.audit().catch(() => undefined)
        if (audit !== undefined && audit.ended === audit.admitted) break
        if (hostNow() > until) throw new Error('expected every admitted job to have ended')
        await sleep(100)
      }
    } catch (error) {
      throw await this.#explain(error, withinMs)
    }
  }

  audit(): Promise<Audit> {
    return this.#operator.order({ do: 'audit' })
  }

  /** Ends all processes and holds what they wrote against the laws. @throws Error with the breaches and the path of the history */
  async verdict(options: CheckOptions = {}): Promise<Verdict> {
    const audit = await this.audit()
    const ends = this.#lostProcess ? await this.#missingEnds() : []
    const complaints = await this.#closeAll()
    this.note({ type: 'audit', at: hostNow(), ...audit })
    for (const end of ends) this.#write({ kind: 'event', clock: 'store', event: end })
    this.#keepsFiles = true
    const verdict = judge(this.#folder, this.#plan.limit, this.#plan.keys, options)
    if (complaints.length > 0) throw new Error(`processes did not end well:\n${complaints.join('\n')}`)
    this.#keepsFiles = false
    return verdict
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.workers, ...this.producers].map((child) => child.kill()))
    await this.#redis?.stop()
    if (!this.#keepsFiles) rmSync(this.#folder, { recursive: true, force: true })
  }

  /** The process that is asked and told what concerns all. */
  get #operator(): CampaignChild {
    return this.producers[0]!
  }

  /** The first worker alone, so that its scheduler is the one that is elected. */
  async #addFleet({ workers: [first, ...others], producers }: CampaignPlan): Promise<void> {
    if (first !== undefined) await this.addWorker(first)
    await Promise.all(others.map((worker) => this.addWorker(worker)))
    await Promise.all(producers.map((producer) => this.addProducer(producer)))
  }

  async #addSingle({ producers: [producer], workers: [worker] }: CampaignPlan): Promise<void> {
    const child = this.#add('single', { producer, worker })
    this.producers.push(child)
    await child.said('ready')
  }

  #add(
    name: string,
    role: { producer?: ProducerPlan | undefined; worker?: WorkerPlan | undefined },
  ): CampaignChild {
    const { limit, keys } = this.#plan
    const shared = { address: this.#redis?.url, prefix: this.#prefix, limit, keys, file: this.#path(name) }
    return new CampaignChild(name, { ...shared, ...role })
  }

  #path(name: string): string {
    return join(this.#folder, `${name}.jsonl`)
  }

  #write(record: HistoryRecord): void {
    this.#file.write(record)
  }

  #noteFault(child: CampaignChild): void {
    const { ids, lastAt } = runningIn(child.plan.file)
    const at = Math.max(hostNow(), lastAt)
    for (const id of ids) this.note({ type: 'fault', at, id })
    const handed = Math.ceil(FARTHEST_LOOK_AHEAD / parseLimit(this.#plan.limit).interval) + STARTING
    this.note({ type: 'crash', at, handed })
  }

  /** Who died after the store had ended a job could not write it down; the store is asked instead. */
  async #missingEnds(): Promise<HistoryEvent[]> {
    const ends: HistoryEvent[] = []
    for (const id of withoutEnd(recordsIn(this.#folder))) {
      const job = await this.#operator.order<JobView | undefined>({ do: 'job', id })
      const outcome = OUTCOMES.find((state) => state === job?.state)
      if (outcome === undefined || job?.endedAt === undefined) continue
      ends.push({ type: 'end', at: job.endedAt * 1_000, id, outcome })
    }
    return ends
  }

  async #closeAll(): Promise<string[]> {
    // Producers last: one of them answers for all.
    const complaints = []
    for (const list of [this.workers, this.producers]) {
      complaints.push(...(await Promise.all(list.splice(0).map((child) => child.close()))))
    }
    return complaints.filter((complaint) => complaint !== undefined)
  }

  async #explain(error: unknown, withinMs: number): Promise<Error> {
    this.#keepsFiles = true
    const ask = (what: 'audit' | 'buckets') =>
      this.#operator.order({ do: what }).then((answer) => `  ${what}: ${JSON.stringify(answer)}`, String)
    const known = [await ask('audit'), await ask('buckets')]
    const states = [...this.producers, ...this.workers].map(({ state }) => state)
    const text = [...known, ...states, `  the records: ${this.#folder}`].join('\n')
    return new Error(`the campaign has not come to rest within ${withinMs} ms: ${error}\n${text}`)
  }
}

const OUTCOMES = ['completed', 'failed', 'cancelled', 'expired'] as const
