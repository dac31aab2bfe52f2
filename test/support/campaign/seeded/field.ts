import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Audit } from '../../../../src/conformance/history.ts'
import { TcpProxy } from '../../tcp-proxy.ts'
import { CampaignChild } from '../child.ts'
import type { ClockShim } from '../clock-shim.ts'
import { HistoryFile } from '../history-file.ts'
import { hostNow } from '../host-time.ts'
import { runningIn } from '../merge-histories.ts'
import { noteFault, noteStop } from '../note-fault.ts'
import type { ChildPlan } from '../plans.ts'
import type { Place } from './leftovers.ts'
import type { Armed, Crash, Role, SeededPlan } from './plan.ts'
import { SeededStore } from './store.ts'

const PROGRAM = fileURLToPath(new URL('../process.js', import.meta.url))
/** Until what a process had sent when it died has reached the store; milliseconds. */
const ARRIVAL_MS = 300

/** A process, with the network between it and Redis; a cluster is reached without one. */
export interface Player {
  readonly child: CampaignChild
  readonly network: TcpProxy | undefined
}

/** The processes of a run, its network and its Redis. */
export class Field {
  readonly plan: SeededPlan
  readonly store: SeededStore
  readonly file: HistoryFile
  readonly folder: string
  readonly players: Readonly<Record<Role, Player[]>> = { producer: [], worker: [] }
  readonly #everyone: Player[] = []
  readonly #followed: Promise<void>[] = []
  #isClosing = false
  #operator: Player | undefined
  #added = 0
  #reached = 0

  private constructor(plan: SeededPlan, store: SeededStore, folder: string) {
    this.plan = plan
    this.store = store
    this.folder = folder
    this.file = new HistoryFile(join(folder, 'campaign.jsonl'))
  }

  static async open(plan: SeededPlan, folder: string, shim: ClockShim | undefined): Promise<Field> {
    const field = new Field(plan, await SeededStore.start(plan.store, folder, shim), folder)
    try {
      field.#operator = await field.#add('operator', { operator: true })
      await field.#operator.child.said('ready')
      await Promise.all(plan.workers.map((_, nth) => field.#addOfPlan('worker', nth)))
      await Promise.all(plan.producers.map((_, nth) => field.#addOfPlan('producer', nth)))
      return field
    } catch (error) {
      await field.close()
      throw error
    }
  }

  /** Of the name of the shaper, as keys of Redis have it. */
  get prefix(): string {
    return `seed${this.plan.seed}`
  }

  get operator(): CampaignChild {
    return this.#operator!.child
  }

  /** Every process that there ever was. */
  get everyone(): readonly Player[] {
    return this.#everyone
  }

  /** How often something planned came about that only chance could bring: points reached, replies lost. */
  get figures(): Readonly<Record<string, number>> {
    const lost = this.#everyone.reduce((all, { network }) => all + (network?.lost ?? 0), 0)
    return { 'points reached': this.#reached, 'replies lost': lost }
  }

  note(text: string): void {
    this.file.write({ kind: 'note', at: hostNow(), text })
  }

  /** The nth process of a role, or the one that replaced it. */
  player(role: Role, nth: number): Player {
    const list = this.players[role]
    return list[nth % list.length]!
  }

  /** SIGKILL. */
  async kill({ child }: Player): Promise<void> {
    if (!child.isAlive) return
    const from = hostNow()
    await child.kill()
    this.note(`SIGKILL of ${child.name}`)
    this.file.write({ kind: 'disturbed', path: child.plan.file, from, until: hostNow() })
    noteFault(this.file, child.plan)
  }

  /** It ends by itself, in the middle of whatever it does. */
  async crash({ child }: Player, how: Crash): Promise<void> {
    if (!child.isAlive) return
    const from = hostNow()
    await child.crash(how)
    this.note(`${child.name} crashed: ${how}, ${child.fate}`)
    this.file.write({ kind: 'disturbed', path: child.plan.file, from, until: hostNow() })
    // A heap takes a while to fill, in which leases may end.
    noteFault(this.file, child.plan, from)
  }

  get hasWorker(): boolean {
    return this.players.worker.some(({ child }) => child.isAlive)
  }

  /** Another process with the plan of a worker that died. */
  async replace(nth: number): Promise<void> {
    await this.#addOfPlan('worker', nth % this.plan.workers.length, false)
  }

  /** SIGSTOP for so long. */
  async stop(player: Player, forMs: number): Promise<void> {
    const { child } = player
    if (!child.isAlive) return
    await child.stop()
    await this.letStand(player, forMs)
  }

  /** It stands still; it goes on after so long. */
  async letStand({ child }: Player, forMs: number): Promise<void> {
    const at = hostNow()
    this.note(`${child.name} stands still for ${forMs} ms`)
    await sleep(forMs)
    noteStop(this.file, child.plan, at, child.plan.worker?.leaseMs)
    child.goOn()
  }

  /** Where its shards are, for those that look at them from outside. */
  get place(): Place {
    const { cluster, live } = this.store
    const shards = this.plan.store.kind === 'cluster' ? this.plan.store.shards : 1
    return { servers: cluster?.servers ?? [live], prefix: this.prefix, shards }
  }

  audit(): Promise<Audit> {
    return this.operator.ask({ do: 'audit' })
  }

  /** Ends every process; returns what went wrong. */
  async closeAll(): Promise<string[]> {
    this.#isClosing = true
    const { worker, producer } = this.players
    const complaints: (string | undefined)[] = []
    for (const list of [worker, producer, [this.#operator!]])
      complaints.push(...(await Promise.all(list.map(({ child }) => child.close()))))
    await Promise.all(this.#followed)
    return complaints.filter((complaint) => complaint !== undefined)
  }

  async close(): Promise<void> {
    this.#isClosing = true
    await Promise.all(this.#everyone.map(({ child }) => child.kill()))
    await Promise.all(this.#everyone.map(({ network }) => network?.[Symbol.asyncDispose]()))
    await Promise.allSettled(this.#followed)
    await this.store.stop()
  }

  async #addOfPlan(role: Role, nth: number, isArmed = true): Promise<void> {
    const plan =
      role === 'worker' ? { worker: this.plan.workers[nth]! } : { producer: this.plan.producers[nth]! }
    const armed = isArmed ? this.plan.armed.find((one) => one.role === role && one.nth === nth) : undefined
    const point = armed === undefined ? {} : { point: armed.point }
    const player = await this.#add(`${role}-${this.#added++}`, { ...plan, ...point })
    if (isArmed) this.players[role].push(player)
    else this.players[role].splice(nth, 1, player)
    if (armed !== undefined) this.#followed.push(this.#follow(player, nth, armed))
    // One that is killed early, or ends itself at an early point, may never say it.
    await player.child.said('ready').catch((error: unknown) => {
      if (!player.child.hasDied) throw error
    })
  }

  /** Waits until a process comes to its point, and writes down what that means. */
  async #follow(player: Player, nth: number, { role, point: { point, then }, forMs }: Armed): Promise<void> {
    const { child } = player
    if (then === 'SIGKILL') {
      child.expectDeath()
      await child.ended
      await sleep(ARRIVAL_MS)
      // At the end of the run, those that are slow to end are killed.
      if (this.#isClosing || child.signal !== 'SIGKILL') return
      this.#reached += 1
      this.note(`${child.name} died at "${point}"`)
      const { lastAt } = runningIn(child.plan.file)
      this.file.write({ kind: 'disturbed', path: child.plan.file, from: lastAt, until: hostNow() })
      noteFault(this.file, child.plan, 0)
      if (role === 'worker') await this.replace(nth)
      return
    }
    while (child.isAlive && !child.isStopped && !this.#isClosing) await sleep(5)
    if (!child.isStopped || this.#isClosing) return
    this.#reached += 1
    await this.letStand(player, forMs)
  }

  async #add(
    name: string,
    role: Pick<ChildPlan, 'producer' | 'worker' | 'operator' | 'point'>,
  ): Promise<Player> {
    const { limit, limits, keys } = this.plan
    const { cluster, live } = this.store
    const network = cluster === undefined ? await TcpProxy.start(live.port!) : undefined
    const shards = this.plan.store.kind === 'cluster' ? { shards: this.plan.store.shards } : {}
    const where = network === undefined ? { nodes: cluster!.nodes } : { address: network.url }
    const file = join(this.folder, `${name}.jsonl`)
    // Others read it, also when the process dies before it has written.
    appendFileSync(file, '')
    const plan: ChildPlan = { ...where, ...shards, prefix: this.prefix, file, limit, limits, keys, ...role }
    const player = { child: new CampaignChild(name, plan, PROGRAM), network }
    this.#everyone.push(player)
    return player
  }
}
