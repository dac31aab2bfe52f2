import { Alarm } from '../../core/alarm.ts'
import type { Clock } from '../../core/clock.ts'
import { MILLISECOND, SECOND } from '../../core/duration.ts'
import { retryDelay } from '../connection/retry-delay.ts'
import type { Claim, Recovered, SharedBackend, SharedJob } from '../protocol/shared-backend.ts'
import { OutageNews } from '../transport/outage-news.ts'
import type { Transport } from '../transport/transport.ts'
import { Backlog } from './backlog.ts'
import { LookAhead } from './look-ahead.ts'
import { Markers } from './markers.ts'
import { Sweeping } from './sweeping.ts'
import { tellHanded, tellLeadership, tellPass } from './tell-pass.ts'

type Verb = 'claim' | 'recover' | 'expire' | 'awaitWake' | 'awaitVacancy' | 'resign'

export interface RedisSchedulerOptions {
  /** Names this scheduler at the election; no other has the name. */
  readonly name: string
  /** The shaper's name. */
  readonly shaper: string
  readonly shard: number
  readonly backend: Pick<SharedBackend, Verb>
  readonly transport: Pick<Transport, 'hand' | 'take'>
  /** How many jobs were handed over and not fetched; absent: not bounded but by what the store hands out. */
  readonly unfetched?: (shard: number) => Promise<number>
  /** Removes some of what the transport holds and no job needs any more; answers how much. */
  readonly sweep?: (shard: number) => Promise<number>
  readonly clock: Clock
  /** Milliseconds; absent: it follows the time that handing over takes, between 50 and 250. */
  readonly lookAheadMs?: number
  readonly onExpired: (job: SharedJob) => void
  readonly onRecovered: (job: Recovered) => void
  readonly onError: (error: Error) => void
  /** From 0 to 1, as of `Math.random`. */
  readonly random?: () => number
}

/** What one pass did. `isElected` false: another scheduler hands over, and this one did nothing. */
export interface SchedulerPass {
  readonly handed: number
  readonly recovered: number
  readonly expired: number
  readonly isElected: boolean
}

type Tally = { -readonly [Count in keyof SchedulerPass]: SchedulerPass[Count] }

/** A job that was claimed and, for whatever reason, not handed over comes back when this and the look-ahead end. */
const LEASE = 2 * SECOND
/** What should be due and yields nothing is not asked for again before. */
const PATIENCE = 100 * MILLISECOND
/** Passes are so many to a look-ahead: each start makes room for one more job, and a wake for each is a waste. */
const PASSES_PER_LOOK_AHEAD = 10
/** Jobs are handed over well before their slots, so a timer may be as late as timers are. */
const SLACK = 10 * MILLISECOND
/** Followers come back at different times. */
const JITTER = 50 * MILLISECOND

/**
 * The scheduler of one shard of a shared store: hands over the heads of the lines shortly before their slots, brings
 * back what was lost on the way, and lets expire what waits too long. Any number of them may run; the store elects
 * the one that works. Between passes it sleeps until the next thing is due or the store wakes it.
 */
export class RedisScheduler {
  readonly #options: RedisSchedulerOptions
  readonly #clock: Clock
  readonly #shard: number
  readonly #lookAhead: LookAhead
  readonly #backlog: Backlog
  readonly #sweeping: Sweeping
  readonly #news: OutageNews
  readonly #wakes: Alarm
  readonly #markers: Markers
  readonly #end: Alarm
  #running: Promise<void> | undefined
  #stopping: Promise<void> | undefined
  #passing: Promise<SchedulerPass> | undefined
  #isStopping = false
  #isFollower = false
  /** It may be elected, or wait for a marker. */
  #isKnown = false
  #due = Number.NEGATIVE_INFINITY
  /** Passes that failed in a row. */
  #failures = 0

  constructor(options: RedisSchedulerOptions) {
    const { clock, shard, lookAheadMs, unfetched, sweep } = options
    this.#options = options
    this.#clock = clock
    this.#shard = shard
    this.#lookAhead = new LookAhead(lookAheadMs === undefined ? undefined : lookAheadMs * MILLISECOND)
    this.#backlog = new Backlog(unfetched && (() => unfetched(shard)))
    this.#sweeping = new Sweeping(sweep && (() => sweep(shard)), clock)
    this.#news = new OutageNews(options.onError)
    this.#wakes = new Alarm(clock, SLACK)
    const { backend } = options
    const onError = (error: unknown) => {
      // Resigning ends a wait.
      if (!this.#isStopping) this.#news.tell(error)
    }
    this.#markers = new Markers({ backend, shard, alarm: this.#wakes, onError })
    this.#end = new Alarm(clock, SLACK)
  }

  /** Does all that is due now; never rejects: an error ends the pass, and is told once. Joins a pass that is under way. */
  runOnce(): Promise<SchedulerPass> {
    this.#passing ??= this.#pass().finally(() => {
      this.#passing = undefined
    })
    return this.#passing
  }

  /** Safe to call twice. To start again, wait until `stop` has resolved. */
  start(): void {
    this.#running ??= this.#loop()
  }

  /** Resolves when a pass that was under way has ended; safe to call twice. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop().finally(() => {
      this.#stopping = undefined
    })
    return this.#stopping
  }

  async #stop(): Promise<void> {
    this.#isStopping = true
    this.#end.ring()
    this.#wakes.ring()
    await this.#running
    await this.#passing
    await this.#resign()
    tellLeadership(this.#options, false)
    this.#running = undefined
    this.#isStopping = false
    this.#end.reset()
  }

  /**
   * Else the others would wait until its time as the elected one is over. One that is not elected resigns, too: the marker of a
   * vacancy may be on its way to it.
   */
  async #resign(): Promise<void> {
    if (!this.#isKnown) return
    this.#isKnown = false
    try {
      await this.#options.backend.resign(this.#shard, this.#options.name)
    } catch (thrown) {
      this.#news.tell(thrown)
    }
  }

  async #loop(): Promise<void> {
    while (!this.#isStopping) {
      const startedAt = this.#clock.now()
      await this.runOnce()
      await this.#sleep(startedAt)
    }
  }

  async #sleep(passStartedAt: number): Promise<void> {
    const failures = Math.max(this.#failures, this.#markers.failures)
    if (failures > 0) await this.#end.sleep(this.#clock.now() + retryDelay(failures, this.#random()))
    else await this.#end.sleep(passStartedAt + this.#lookAhead.value / PASSES_PER_LOOK_AHEAD)
    if (this.#isStopping || this.#failures > 0) return
    if (this.#isFollower) this.#markers.awaitVacancy(Math.max(0, this.#due - this.#clock.now()))
    else this.#markers.awaitWake()
    await this.#wakes.sleep(this.#due)
  }

  async #pass(): Promise<SchedulerPass> {
    const tally: Tally = { handed: 0, recovered: 0, expired: 0, isElected: false }
    // The claim sees all that rang before it; what rings from here on is looked at in another pass.
    this.#wakes.reset()
    const startedAt = this.#clock.now()
    try {
      let isMore = true
      while (isMore) isMore = (await this.#step(tally, startedAt)) && !this.#isStopping
      if (tally.isElected && !this.#isStopping) await this.#sweeping.goOn()
      this.#failures = 0
      if (this.#markers.failures === 0) this.#news.over()
    } catch (thrown) {
      this.#failures++
      this.#news.tell(thrown)
    }
    tellPass(this.#options, tally, this.#clock.now() - startedAt)
    return tally
  }

  /** One claim and the chores that it found due; whether there may be more to do at once. */
  async #step(tally: Tally, passStartedAt: number): Promise<boolean> {
    const most = await this.#backlog.room()
    const lookAhead = this.#lookAhead.value
    const request = { scheduler: this.#options.name, lookAhead, most, lease: LEASE + lookAhead }
    this.#isKnown = true
    const claim = await this.#options.backend.claim(this.#shard, request)
    const claimedAt = this.#clock.now()
    tally.isElected = claim.isElected
    this.#isFollower = !claim.isElected
    if (!claim.isElected) {
      // It was elected when jobs expired or came back, and has not heard which.
      if (claim.nextRecovery <= claim.now) tally.recovered += await this.#recover()
      if (claim.nextExpiry <= claim.now) tally.expired += await this.#expire()
      const left = Math.max(0, claim.leaderUntil - claim.now)
      this.#due = claimedAt + left + JITTER * this.#random()
      return false
    }
    await this.#hand(claim.jobs)
    if (claim.jobs.length > 0) this.#lookAhead.observe(this.#clock.now() - passStartedAt)
    tally.handed += claim.jobs.length
    const recovered = claim.nextRecovery <= claim.now ? await this.#recover() : 0
    const expired = claim.nextExpiry <= claim.now ? await this.#expire() : 0
    tally.recovered += recovered
    tally.expired += expired
    this.#due = claimedAt + timeLeft(claim, this.#backlog.isFull)
    // These move the times that the claim told, and what came back may be claimed anew.
    return recovered > 0 || expired > 0 || (claim.jobs.length >= most && !this.#backlog.isFull)
  }

  async #hand(jobs: Claim['jobs']): Promise<void> {
    if (jobs.length === 0) return
    this.#backlog.add(jobs.length)
    const shard = this.#shard
    const deliveries = jobs.map(({ id, epoch, key }) => ({ id, epoch, key, shard }))
    try {
      await this.#options.transport.hand(shard, deliveries)
    } catch (error) {
      tellHanded(this.#options, jobs.length, 'error')
      throw error
    }
    tellHanded(this.#options, jobs.length, 'added')
  }

  async #recover(): Promise<number> {
    const jobs = await this.#options.backend.recover(this.#shard)
    for (const job of jobs) this.#options.onRecovered(job)
    // Without this, what nobody fetches would be handed over again and again, and pile up.
    if (jobs.length > 0) await this.#options.transport.take(this.#shard, jobs)
    return jobs.length
  }

  async #expire(): Promise<number> {
    const jobs = await this.#options.backend.expire(this.#shard)
    for (const job of jobs) this.#options.onExpired(job)
    return jobs.length
  }

  #random(): number {
    return (this.#options.random ?? Math.random)()
  }
}

/** Microseconds until something is due; what was due and done, or could not be done, is not due at once again. */
function timeLeft(claim: Claim, isBacklogFull: boolean): number {
  const { now, jobs, nextClaim, nextRecovery, nextExpiry } = claim
  const mayClaimAtOnce = jobs.length > 0 && !isBacklogFull
  return Math.min(
    nextClaim > now || mayClaimAtOnce ? nextClaim - now : PATIENCE,
    nextRecovery > now ? nextRecovery - now : PATIENCE,
    nextExpiry > now ? nextExpiry - now : PATIENCE,
  )
}
