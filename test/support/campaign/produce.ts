import { setTimeout as sleep } from 'node:timers/promises'
import { type Admission, type Costs, isVelvetRopeError, type Shaper } from '../../../src/index.ts'
import type { Asked, HistoryFile } from './history-file.ts'
import { hostNow } from './host-time.ts'
import { digestOf, payloadOf } from './payload.ts'
import type { ProducerPlan, Work } from './plans.ts'

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
  const idOf = (key: string, n: number) => `${plan.name}-${key.replaceAll('/', '_')}-${n}`
  const requestOf = (key: string, n: number) => ({
    key,
    data: { n, text: payloadOf(idOf(key, n)) },
    id: idOf(key, n),
    cost: plan.cost ?? 1,
    ...costsOf(plan, n),
    ...(plan.attempts !== undefined && { attempts: plan.attempts }),
    ...(plan.backoffMs !== undefined && { backoff: plan.backoffMs }),
    ...(plan.timeoutMs !== undefined && { timeoutMs: plan.timeoutMs }),
    ...(plan.deadline !== undefined && n % plan.deadline.every === 0 && { deadlineMs: plan.deadline.ms }),
  })

  let calls = 0

  /** Asks until there is an answer; without one it asks again under the same id. */
  const ask = async <Answer>(
    question: () => Promise<Answer>,
    asked: readonly Asked[],
    answersOf: (answer: Answer) => readonly string[],
  ): Promise<Answer> => {
    for (;;) {
      const at = hostNow()
      const call = ++calls
      file.write({ kind: 'asked', at, call, asked })
      let turns = 0
      // A busy machine delays each turn a little, of this timer and of those of the line.
      const timer = setInterval(() => {
        turns += 1
      }, TURN_MS)
      try {
        const answer = await question()
        file.write({ kind: 'answered', at: hostNow(), call, answers: answersOf(answer) })
        return answer
      } catch (error) {
        file.write({ kind: 'answered', at: hostNow(), call, answers: 'unknown' })
        if (!isOutage(error)) throw error
        file.write({ kind: 'unavailable', at, tookMs: (hostNow() - at) / 1_000, isLate: turns >= TURNS })
        await sleep(PATIENCE)
      } finally {
        clearInterval(timer)
      }
    }
  }

  const admit = ({ key, data, ...options }: Request) =>
    ask(
      () => shaper.enqueue(key, data, options),
      [askedFor({ key, data, ...options })],
      (admission) => [verdictOf(admission)],
    )

  const cancelLater = async (key: string, id: string, cost: number, afterMs: number) => {
    await sleep(afterMs)
    await ask(
      () => shaper.cancel(id),
      [{ do: 'cancel', id, key, cost }],
      (done) => [`${done}`],
    )
  }

  /** An answer that was lost on its way emits no event when it is given again. */
  const noteReplay = ({ cost, costs }: Request, admission: Admission) => {
    if (!admission.accepted || admission.replayed !== true) return
    const { id, key, departsAt } = admission
    const known = { at: hostNow(), id, key, cost, ...(costs && { costs }), departsAt: departsAt * 1_000 }
    const event = { ...known, type: 'answer', accepted: true } as const
    file.write({ kind: 'event', clock: 'host', event, replayed: true })
  }

  const cancelling: Promise<void>[] = []
  const settle = async (request: Request, first?: Admission) => {
    let admission = first ?? (await admit(request))
    while (!admission.accepted && admission.reason === 'full' && plan.comesBack === true) {
      await sleep(admission.retryAfterMs)
      admission = await admit(request)
    }
    noteReplay(request, admission)
    if (admission.accepted) count.accepted += 1
    else count.refused += 1
    const { key, id, cost, data } = request
    const { every = 0, withinMs = 0 } = plan.cancels ?? {}
    if (!admission.accepted || every === 0 || data.n % every !== 0) return
    cancelling.push(cancelLater(key, id, cost, (withinMs * ((data.n * 7) % 11)) / 10))
  }

  const requestsOf = (key: string) => Array.from({ length: plan.jobs }, (_, n) => requestOf(key, n))

  /** All keys without a pause; then each key's line is as long as it can be, and the rest comes at its `retryAt`. */
  const produceBurst = async () => {
    const rest: Promise<void>[] = []
    for (const key of keys) {
      const requests = requestsOf(key)
      const first = await ask(
        () => shaper.enqueueMany(requests),
        requests.map(askedFor),
        (answers) => answers.map(verdictOf),
      )
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
  await Promise.all(cancelling)
  return count
}

/** A replica that is not promoted yet takes no writes; one that has just connected there hears that it does not fit. */
function isOutage(error: unknown): boolean {
  return isVelvetRopeError(error, 'backend-unavailable') || isVelvetRopeError(error, 'unfit-redis')
}

interface Request {
  readonly key: string
  readonly data: Work
  readonly id: string
  readonly cost: number
  readonly costs?: Costs
  readonly deadlineMs?: number
}

/** Every third job names no unit, so that the limit says what it counts. */
function costsOf({ costs }: ProducerPlan, n: number): { costs?: Costs } {
  if (costs === undefined || n % 3 === 0) return {}
  return { costs: { [costs.unit]: 1 + ((n * 7) % costs.most) } }
}

function askedFor({ id, key, cost, costs, data, deadlineMs }: Request): Asked {
  const asked = { do: 'admit', id, key, cost, data: digestOf(data) } as const
  return { ...asked, ...(costs && { costs }), ...(deadlineMs !== undefined && { deadlineMs }) }
}

function verdictOf(admission: Admission): string {
  if (admission.accepted) return 'accepted'
  const { reason, at } = admission
  return reason === 'full' && at !== undefined ? `full at ${at}` : reason
}
