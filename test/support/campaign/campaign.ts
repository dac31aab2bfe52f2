import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Audit } from '../../../src/conformance/history.ts'
import type { JobView } from '../../../src/index.ts'
import type { CheckOptions, HistoryEvent } from '../../../src/testing.ts'
import { built } from '../built.ts'
import { type RedisProcess, type RedisSettings, startRedis, uniquePrefix } from '../redis-server.ts'
import { CampaignChild } from './child.ts'
import { endOf } from './end-of.ts'
import { HistoryFile, type HistoryRecord } from './history-file.ts'
import { hostNow } from './host-time.ts'
import { judge, recordsIn, type Verdict } from './judge.ts'
import { runningIn, withoutEnd } from './merge-histories.ts'
import { noteFault, noteStop } from './note-fault.ts'
import type { CallerPlan, ChildPlan, Fates, ProducerPlan, ShaperPlan, WorkerPlan } from './plans.ts'
import { noteAdmission } from './record-turns.ts'

/** For so long a silent process keeps its turns; milliseconds. */
const TURN_LEASE_MS = 3_900
/** How long a campaign may take to come to rest, at the least twice as long as it should; milliseconds. */
const REST_MS = 180_000
/** Until what a process had sent when it died has reached the store; milliseconds. */
const ARRIVAL_MS = 500

/** Who takes part. Each producer, worker and caller is a process; without Redis there is one, which is all of them. */
export interface CampaignPlan extends Pick<ShaperPlan, 'limit' | 'limits' | 'keys'> {
  readonly producers: readonly ProducerPlan[]
  readonly workers: readonly WorkerPlan[]
  readonly callers?: readonly CallerPlan[]
  readonly redis: RedisSettings | 'none'
}

/** Many processes around one line: each writes down what it does, and all of it is judged as one history. */
export class Campaign {
  readonly producers: CampaignChild[] = []
  readonly workers: CampaignChild[] = []
  readonly callers: CampaignChild[] = []
  readonly #plan: CampaignPlan
  readonly #redis: RedisProcess | undefined
  readonly #folder = mkdtempSync(join(tmpdir(), 'velvet-rope-campaign-'))
  readonly #prefix = uniquePrefix()
  readonly #file: HistoryFile
  readonly #searches: Promise<void>[] = []
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

  async addCaller(caller: CallerPlan): Promise<CampaignChild> {
    const child = this.#add(`caller-${this.callers.length}`, { caller })
    this.callers.push(child)
    await child.said('ready')
    return child
  }

  /** SIGKILL. What it ran is due to start once more; what it held may lose its place. */
  async kill(child: CampaignChild): Promise<void> {
    await child.kill()
    this.#lostProcess = true
    noteFault(this.#file, child.plan)
    if (child.plan.caller !== undefined) this.#searches.push(this.#searchTurnsOf(child))
  }

  /** SIGSTOP for so long. */
  async stop(child: CampaignChild, forMs: number): Promise<void> {
    await child.stop()
    const at = hostNow()
    await sleep(forMs)
    noteStop(this.#file, child.plan, at, leaseOf(child.plan))
    child.goOn()
  }

  /** Lets a process end in its own time. */
  async close(child: CampaignChild): Promise<void> {
    const complaint = await child.close()
    if (complaint !== undefined) throw new Error(`${child.name} did not close: ${complaint}`)
    for (const list of [this.producers, this.workers, this.callers])
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

  /** Resolves when every producer and every caller that lives is done, and every admitted job has ended. @throws Error with all that is known */
  async rest(withinMs = REST_MS): Promise<void> {
    const until = hostNow() + withinMs * 1_000
    const left = () => Math.max(1, Math.ceil((until - hostNow()) / 1_000))
    try {
      const called = this.callers.filter(({ isAlive }) => isAlive)
      await Promise.all([
        ...this.producers.map((child) => child.said('done', { withinMs: left() })),
        ...called.map((child) => child.said('called', { withinMs: left() })),
      ])
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

  /** What became of the callers, in each of the processes that live; after `rest`. */
  fates(): Promise<Fates[]> {
    const living = this.callers.filter(({ isAlive }) => isAlive)
    return Promise.all(
      living.map(async (child) => JSON.parse((await child.said('called ')).slice('called '.length))),
    )
  }

  audit(): Promise<Audit> {
    return this.#operator.ask({ do: 'audit' })
  }

  /** Ends all processes and holds what they wrote against the laws. @throws Error with the breaches and the path of the history */
  async verdict(options: CheckOptions = {}): Promise<Verdict> {
    const audit = await this.audit()
    await Promise.all(this.#searches)
    const ends = this.#lostProcess ? await this.#missingEnds() : []
    const complaints = await this.#closeAll()
    this.note({ type: 'audit', at: hostNow(), ...audit })
    for (const end of ends) this.#write({ kind: 'event', clock: 'store', event: end })
    this.#keepsFiles = true
    const verdict = judge(this.#folder, this.#plan, options)
    if (complaints.length > 0) throw new Error(`processes did not end well:\n${complaints.join('\n')}`)
    this.#keepsFiles = false
    return verdict
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.workers, ...this.callers, ...this.producers].map((child) => child.kill()))
    await this.#redis?.stop()
    if (!this.#keepsFiles) rmSync(this.#folder, { recursive: true, force: true })
  }

  /** The process that gets the questions and orders that concern all. */
  get #operator(): CampaignChild {
    return this.producers[0]!
  }

  /** The first worker alone, so that its scheduler is the one that is elected. */
  async #addFleet({ workers: [first, ...others], producers, callers = [] }: CampaignPlan): Promise<void> {
    if (first !== undefined) await this.addWorker(first)
    await Promise.all(others.map((worker) => this.addWorker(worker)))
    await Promise.all([
      ...producers.map((producer) => this.addProducer(producer)),
      ...callers.map((caller) => this.addCaller(caller)),
    ])
  }

  async #addSingle({
    producers: [producer],
    workers: [worker],
    callers: [caller] = [],
  }: CampaignPlan): Promise<void> {
    const child = this.#add('single', { producer, worker, caller })
    this.producers.push(child)
    await child.said('ready')
  }

  #add(name: string, role: Role): CampaignChild {
    const { limit, limits, keys } = this.#plan
    const where = { address: this.#redis?.url, prefix: this.#prefix, file: this.#path(name) }
    const shared = { ...where, limit, limits, keys }
    return new CampaignChild(name, { ...shared, ...role }, built('test/support/campaign/process.ts'))
  }

  #path(name: string): string {
    return join(this.#folder, `${name}.jsonl`)
  }

  #write(record: HistoryRecord): void {
    this.#file.write(record)
  }

  /** Who died after the store had ended a job could not write it down; the store is asked instead. */
  async #missingEnds(): Promise<HistoryEvent[]> {
    const ends: HistoryEvent[] = []
    for (const id of withoutEnd(recordsIn(this.#folder))) {
      const job = await this.#operator.ask<JobView | undefined>({ do: 'job', id })
      const end = job && endOf(job)
      if (end !== undefined) ends.push(end)
    }
    return ends
  }

  /** The store forgets turns soon after their ends, so it is asked immediately for what the process could not write down. */
  async #searchTurnsOf({ plan: { file } }: CampaignChild): Promise<void> {
    await sleep(ARRIVAL_MS)
    for (const id of new Set([...withoutEnd([file]), ...runningIn(file).ids])) {
      const job = await this.#operator.ask<JobView | undefined>({ do: 'job', id })
      if (job === undefined) continue
      noteAdmission(job, this.#file)
      const end = endOf(job)
      if (end !== undefined) this.#write({ kind: 'event', clock: 'store', event: end, found: true })
    }
  }

  async #closeAll(): Promise<string[]> {
    // Producers last: one of them answers for all.
    const complaints = []
    for (const list of [this.workers, this.callers, this.producers]) {
      complaints.push(...(await Promise.all(list.splice(0).map((child) => child.close()))))
    }
    return complaints.filter((complaint) => complaint !== undefined)
  }

  async #explain(error: unknown, withinMs: number): Promise<Error> {
    this.#keepsFiles = true
    const ask = (what: 'audit' | 'buckets') =>
      this.#operator.order({ do: what }).then((answer) => `  ${what}: ${JSON.stringify(answer)}`, String)
    const known = [await ask('audit'), await ask('buckets')]
    const states = [...this.producers, ...this.workers, ...this.callers].map(({ state }) => state)
    const text = [...known, ...states, `  the records: ${this.#folder}`].join('\n')
    return new Error(`the campaign has not come to rest within ${withinMs} ms: ${error}\n${text}`)
  }
}

interface Role {
  readonly producer?: ProducerPlan | undefined
  readonly worker?: WorkerPlan | undefined
  readonly caller?: CallerPlan | undefined
}

/** For so long a process may stand still and lose nothing; milliseconds. */
function leaseOf({ worker, caller }: ChildPlan): number {
  const { POSITIVE_INFINITY: never } = Number
  return Math.min(worker?.leaseMs ?? never, caller === undefined ? never : TURN_LEASE_MS)
}
