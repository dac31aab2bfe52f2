import { setTimeout as sleep } from 'node:timers/promises'
import { type Admission, isVelvetRopeError, type Shaper } from '../../../src/index.ts'
import type { HistoryFile } from './history-file.ts'
import { hostNow } from './host-time.ts'
import type { ProducerPlan } from './plans.ts'

/** How long a producer waits before it asks a store again that was away; milliseconds. */
const PATIENCE = 100
/**
 * A producer hears within two seconds that a store is away. A busy machine makes them longer, so this counts turns of its
 * event loop, and half as many again.
 */
const TURNS = 30
const TURN_MS = 100

/** Lines up the jobs of the plan, each key's in order; resolves when each was accepted or refused for good. */
export async function produce(
  shaper: Shaper,
  keys: readonly string[],
  plan: ProducerPlan,
  file: HistoryFile,
): Promise<{ accepted: number; refused: number }> {
  const count = { accepted: 0, refused: 0 }
  const requestOf = (key: string, n: number) => ({
    key,
    data: { n },
    id: `${plan.name}-${key.replaceAll('/', '_')}-${n}`,
    cost: plan.cost ?? 1,
    ...(plan.attempts !== undefined && { attempts: plan.attempts }),
    ...(plan.backoffMs !== undefined && { backoff: plan.backoffMs }),
    ...(plan.timeoutMs !== undefined && { timeoutMs: plan.timeoutMs }),
    ...(plan.deadline !== undefined && n % plan.deadline.every === 0 && { deadlineMs: plan.deadline.ms }),
  })

  /** Asks until there is an answer; without one it asks again under the same id. */
  const ask = async <Answer>(question: () => Promise<Answer>): Promise<Answer> => {
    for (;;) {
      const at = hostNow()
      let turns = 0
      // A busy machine delays each turn a little, of this timer and of those of the line.
      const timer = setInterval(() => {
        turns += 1
      }, TURN_MS)
      try {
        return await question()
      } catch (error) {
        if (!isVelvetRopeError(error, 'backend-unavailable')) throw error
        file.write({ kind: 'unavailable', at, tookMs: (hostNow() - at) / 1_000, isLate: turns >= TURNS })
        await sleep(PATIENCE)
      } finally {
        clearInterval(timer)
      }
    }
  }

  /** An answer that was lost on its way emits no event when it is given again. */
  const noteReplay = (cost: number, admission: Admission) => {
    if (!admission.accepted || admission.replayed !== true) return
    const { id, key, departsAt } = admission
    const known = { at: hostNow(), id, key, cost, departsAt: departsAt * 1_000 }
    const event = { ...known, type: 'answer', accepted: true } as const
    file.write({ kind: 'event', clock: 'host', event, replayed: true })
  }

  const settle = async (request: ReturnType<typeof requestOf>, first?: Admission) => {
    const { key, data, ...options } = request
    let admission = first ?? (await ask(() => shaper.enqueue(key, data, options)))
    while (!admission.accepted && admission.reason === 'full' && plan.comesBack === true) {
      await sleep(admission.retryAfterMs)
      admission = await ask(() => shaper.enqueue(key, data, options))
    }
    noteReplay(request.cost, admission)
    if (admission.accepted) count.accepted += 1
    else count.refused += 1
  }

  const requestsOf = (key: string) => Array.from({ length: plan.jobs }, (_, n) => requestOf(key, n))

  /** All keys without a pause; then each key's line is as long as it can be, and the rest comes at its `retryAt`. */
  const produceBurst = async () => {
    const rest: Promise<void>[] = []
    for (const key of keys) {
      const requests = requestsOf(key)
      const first = await ask(() => shaper.enqueueMany(requests))
      const settleAll = async () => {
        for (const [n, request] of requests.entries()) await settle(request, first[n])
      }
      rest.push(settleAll())
    }
    await Promise.all(rest)
  }

  const produceSteadily = async (key: string, gapMs: number) => {
    for (const request of requestsOf(key)) {
      await settle(request)
      await sleep(gapMs)
    }
  }

  const { gapMs } = plan
  if (gapMs === undefined) await produceBurst()
  else await Promise.all(keys.map((key) => produceSteadily(key, gapMs)))
  return count
}
