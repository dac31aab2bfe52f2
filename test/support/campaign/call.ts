import { setTimeout as sleep } from 'node:timers/promises'
import { isVelvetRopeError, type Shaper, TurnRefusedError } from '../../../src/index.ts'
import { dice } from './dice.ts'
import type { HistoryFile } from './history-file.ts'
import { hostNow } from './host-time.ts'
import type { CallerPlan, Chance, Fates } from './plans.ts'
import type { TurnOf } from './record-turns.ts'

/** The longest wait of a caller without a known time to retry; milliseconds. */
const LONGEST_PAUSE = 500
/** The error of a caller that gives up: none of the shaper's. */
const GIVEN_UP = new Error('gave up, as planned')

interface Notes {
  readonly file: HistoryFile
  readonly turnOf: TurnOf
}

/** Callers that wait for turns as planned, each again and again; each writes down its turn before anything else. */
export async function call(
  shaper: Shaper,
  keys: readonly string[],
  plan: CallerPlan,
  { file, turnOf }: Notes,
): Promise<Fates> {
  const fates: Fates = { departed: 0, refused: 0, aborted: 0, timedOut: 0, cancelled: 0, unavailable: 0 }
  const random = dice(plan.seed)
  const until = hostNow() + plan.forMs * 1_000
  let calls = 0
  let departures = 0

  const hits = (chance: Chance | undefined) => chance !== undefined && random() < chance.share
  const within = ({ withinMs }: Chance) => 1 + Math.floor(random() * withinMs)

  /** Right behind a caller that has a turn: alone it may come when the line is idle, and then it breaks no spacing. */
  const barge = (key: string, at: number) => {
    const id = `barged-${plan.seed}-${departures}`
    const event = { type: 'start', at, id, key, cost: 1, attempt: 1 } as const
    file.write({ kind: 'event', clock: 'host', event })
  }

  const take = async (key: string, cost: number) => {
    if (plan.tries?.[key] !== undefined) {
      const turn = await shaper.tryAcquire(key, { cost })
      if (!turn.accepted) throw new TurnRefusedError(turn)
      return turn
    }
    const timeout = hits(plan.timeouts) ? { timeoutMs: within(plan.timeouts!) } : {}
    if (!hits(plan.aborts)) return shaper.acquire(key, { cost, ...timeout })
    const giveUp = new AbortController()
    const timer = setTimeout(() => giveUp.abort(GIVEN_UP), within(plan.aborts!))
    return shaper.acquire(key, { cost, ...timeout, signal: giveUp.signal }).finally(() => clearTimeout(timer))
  }

  const takeTurn = async (key: string, cost: number) => {
    const n = ++calls
    const turn = await take(key, cost)
    if (plan.dawdles !== undefined && n % plan.dawdles.every === 0) await sleep(plan.dawdles.ms)
    const at = hostNow()
    const departed = turnOf(turn)
    if (departed === undefined)
      throw new Error(`expected a departure of ${key} at ${turn.departedAt}, none was returned`)
    file.write({ kind: 'resumed', at, id: departed.id, isSameTurn: !departed.isOver })
    // Also with the first one: on a busy machine few depart.
    if (plan.barges !== undefined && departures++ % plan.barges === 0) barge(key, departed.at)
  }

  /** Milliseconds that the caller stays away. */
  const settle = (error: unknown): number => {
    if (error === GIVEN_UP) fates.aborted += 1
    else if (isVelvetRopeError(error, 'turn-timeout')) fates.timedOut += 1
    else if (isVelvetRopeError(error, 'turn-cancelled')) fates.cancelled += 1
    else if (isVelvetRopeError(error, 'backend-unavailable')) fates.unavailable += 1
    else if (error instanceof TurnRefusedError) {
      fates.refused += 1
      return error.reason === 'full' ? error.retryAfterMs : Math.min(error.retryAfterMs, LONGEST_PAUSE)
    } else throw error
    return 0
  }

  const callAgainAndAgain = async (key: string) => {
    const costs = plan.costs?.[key] ?? [1]
    for (let n = 0; hostNow() < until; n++) {
      const pause = await takeTurn(key, costs[n % costs.length]!).then(() => {
        fates.departed += 1
        return 0
      }, settle)
      const away = plan.tries?.[key]
      await sleep(away === undefined ? pause : random() * away)
    }
  }

  const callers = keys.flatMap((key) => Array.from({ length: plan.callers }, () => callAgainAndAgain(key)))
  await Promise.all(callers)
  return fates
}
