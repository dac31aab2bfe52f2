import type { Clock } from '../../core/clock.ts'
import { handoffs } from '../../core/diagnostics.ts'
import { MILLISECOND, SECOND } from '../../core/duration.ts'
import type { Transport } from '../transport/transport.ts'
import type { Claim } from '../verbs/claim.ts'
import type { RemovedJob } from '../verbs/handed-job.ts'
import type { Recovered } from '../verbs/recover.ts'
import type { Verbs } from '../verbs/verbs.ts'
import { Backlog } from './backlog.ts'
import { LookAhead } from './look-ahead.ts'
import { Sweeping } from './sweeping.ts'
import { TrustedTime } from './trusted-time.ts'

/** A job that was claimed but not handed over comes back when this and the look-ahead are over. */
const LEASE = 2 * SECOND
/** What should be due and yields nothing is not asked for again before. */
const PATIENCE = 100 * MILLISECOND
/** Followers come back at different times. */
const JITTER = 50 * MILLISECOND

export interface PassPorts {
  /** Names this scheduler at the election; no other has the name. */
  readonly name: string
  /** The shaper's name. */
  readonly shaper: string
  readonly shard: number
  readonly backend: Pick<Verbs, 'claim' | 'recover' | 'expire'>
  readonly transport: Pick<Transport, 'hand' | 'take'>
  /** How many jobs were handed over and not fetched; absent: bounded by what the store hands out alone. */
  readonly unfetched?: (shard: number) => Promise<number>
  /** Removes some of what the transport holds and no job needs any more; returns how much. */
  readonly sweep?: (shard: number) => Promise<number>
  readonly clock: Clock
  /** Milliseconds; absent: it follows the time that handing over takes, between 50 and 250. */
  readonly lookAheadMs?: number
  readonly onExpired: (job: RemovedJob) => void
  readonly onRecovered: (job: Recovered) => void
  /** From 0 to 1, as of `Math.random`. */
  readonly random?: () => number
}

/** What one pass did. `isElected` false: another scheduler hands over, and this one did nothing. */
export interface PassCounts {
  readonly handed: number
  readonly recovered: number
  readonly expired: number
  readonly isElected: boolean
}

type Tally = { -readonly [Count in keyof PassCounts]: PassCounts[Count] }

/** The work of a scheduler: one pass does all that is due now. When the next pass is due it says in `due`. */
export class Pass {
  readonly #ports: PassPorts
  readonly #lookAhead: LookAhead
  readonly #backlog: Backlog
  readonly #sweeping: Sweeping
  readonly #time = new TrustedTime()
  #isFollower = false
  #due = Number.NEGATIVE_INFINITY

  constructor(ports: PassPorts) {
    const { clock, shard, lookAheadMs, unfetched, sweep } = ports
    this.#ports = ports
    this.#lookAhead = new LookAhead(lookAheadMs === undefined ? undefined : lookAheadMs * MILLISECOND)
    this.#backlog = new Backlog(unfetched && (() => unfetched(shard)))
    this.#sweeping = new Sweeping(sweep && (() => sweep(shard)), clock)
  }

  /** Another scheduler was elected at the last claim. */
  get isFollower(): boolean {
    return this.#isFollower
  }

  /** When the next pass is due; microseconds, as the clock of the process counts. */
  get due(): number {
    return this.#due
  }

  /** How long before its slot a job is handed over; microseconds. */
  get lookAhead(): number {
    return this.#lookAhead.value
  }

  /** @param tally counts what was done, also when the pass fails. @throws what the store or the transport throws */
  async run(tally: Tally, isStopping: () => boolean): Promise<void> {
    const startedAt = this.#ports.clock.now()
    let isMore = true
    while (isMore) {
      isMore = (await this.#step(tally, startedAt)) && !isStopping()
      // Not only in the end: while jobs keep expiring or coming back, there is none.
      if (tally.isElected && !isStopping()) await this.#sweeping.goOn()
    }
  }

  /** Makes one claim and does what it found due; returns whether there may be more to do at once. */
  async #step(tally: Tally, passStartedAt: number): Promise<boolean> {
    const { name, shard, backend, clock } = this.#ports
    const most = await this.#backlog.room()
    const lookAhead = this.#lookAhead.value
    const sentAt = clock.now()
    const claim = await backend.claim(shard, { scheduler: name, lookAhead, most, lease: LEASE + lookAhead })
    const claimedAt = clock.now()
    this.#time.observe({ sentAt, receivedAt: claimedAt, storeTime: claim.now })
    tally.isElected = claim.isElected
    this.#isFollower = !claim.isElected
    if (!claim.isElected) {
      // It was elected when jobs expired or came back, and did not get the answer that names them.
      if (claim.nextRecovery <= claim.now) await this.#recover(tally)
      if (claim.nextExpiry <= claim.now) tally.expired += await this.#expire()
      const left = Math.max(0, claim.leaderUntil - claim.now)
      this.#due = claimedAt + left + JITTER * (this.#ports.random ?? Math.random)()
      return false
    }
    await this.#hand(claim.jobs)
    if (claim.jobs.length > 0) this.#lookAhead.observe(clock.now() - passStartedAt)
    tally.handed += claim.jobs.length
    const isMoreLost = claim.nextRecovery <= claim.now && (await this.#recover(tally))
    const expired = claim.nextExpiry <= claim.now ? await this.#expire() : 0
    tally.expired += expired
    this.#due = claimedAt + timeLeft(claim, this.#backlog.isFull)
    // These move the times in the answer of the claim, and what came back may be claimed anew.
    return isMoreLost || expired > 0 || (claim.jobs.length >= most && !this.#backlog.isFull)
  }

  async #hand(jobs: Claim['jobs']): Promise<void> {
    if (jobs.length === 0) return
    const { shard, transport } = this.#ports
    this.#backlog.add(jobs.length)
    const deliveries = jobs.map(({ id, epoch, key }) => ({ id, epoch, key, shard }))
    try {
      await transport.hand(shard, deliveries)
    } catch (error) {
      this.#publishHandoff(jobs.length, 'error')
      throw error
    }
    this.#publishHandoff(jobs.length, 'added')
  }

  /** Returns whether there may be more to take back at once. */
  async #recover(tally: Tally): Promise<boolean> {
    const { shard, backend, transport, onRecovered } = this.#ports
    const { jobs, isMore } = await backend.recover(shard, { until: this.#time.until })
    for (const job of jobs) onRecovered(job)
    // Without this, deliveries that no worker fetches would pile up: each job would be handed over again and again.
    if (jobs.length > 0) await transport.take(shard, jobs)
    tally.recovered += jobs.length
    return isMore || jobs.length > 0
  }

  async #expire(): Promise<number> {
    const { shard, backend, onExpired } = this.#ports
    const jobs = await backend.expire(shard)
    for (const job of jobs) onExpired(job)
    return jobs.length
  }

  #publishHandoff(jobs: number, outcome: 'added' | 'error'): void {
    const { shaper, shard } = this.#ports
    if (handoffs.hasSubscribers) handoffs.publish({ shaper, shard, jobs, outcome })
  }
}

/** Microseconds until something is due; what was due and done, or could not be done, is not due at once again. */
function timeLeft(claim: Claim, isBacklogFull: boolean): number {
  const { now, jobs, nextClaim } = claim
  const mayClaimAtOnce = jobs.length > 0 && !isBacklogFull
  const chores = [claim.nextForgetting, claim.nextRecovery, claim.nextExpiry]
  return Math.min(
    nextClaim > now || mayClaimAtOnce ? nextClaim - now : PATIENCE,
    ...chores.map((next) => (next > now ? next - now : PATIENCE)),
  )
}
