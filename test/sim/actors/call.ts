import { setTimeout as sleep } from 'node:timers/promises'
import { isVelvetRopeError, type Shaper, type Turn, TurnRefusedError } from '../../../src/index.ts'
import type { TurnPlan } from '../plan/plan.ts'
import type { HoldPlan } from '../plan/set-plan.ts'
import type { SimProcess } from '../world/process.ts'
import type { Payload, Scene } from './scene.ts'
import { settleAfterEnd, settleWhileRunning } from './settle.ts'

/** Gives back what it may hold. */
const AT_ONCE: HoldPlan = { most: 0, release: 0 }
/** For so long a request may still reach the store whose caller has given up; milliseconds. */
const STILL_SENT = 2_500
/** The error of a caller that gives up: none of the shaper's. */
const GIVEN_UP = new Error('gave up, as planned')

/** Waits for the turns of one caller as planned. Where another took its part before, it goes on with those that are to come. */
export function call(scene: Scene, part: number, shaper: Shaper<Payload>, process: SimProcess): void {
  const own = scene.plan.turns.filter(({ caller, at }) => caller === part && at * 1_000 >= process.bornAt)
  for (const turn of own) {
    process.at(turn.at * 1_000, 0, () => void take(scene, shaper, process, turn))
  }
}

async function take(
  scene: Scene,
  shaper: Shaper<Payload>,
  process: SimProcess,
  turn: TurnPlan,
): Promise<void> {
  const { key, timeout, aborts, isTry } = turn
  const waiting = { process }
  scene.calling.add(waiting)
  const giveUp = new AbortController()
  const timer = aborts === undefined ? undefined : setTimeout(() => giveUp.abort(GIVEN_UP), aborts)
  try {
    const taken = isTry
      ? await shaper.tryAcquire(key, optionsOf(turn))
      : await shaper.acquire(key, {
          ...optionsOf(turn),
          signal: giveUp.signal,
          ...(timeout !== undefined && { timeoutMs: timeout }),
        })
    if (taken.accepted) void hold(scene, process, turn, taken)
  } catch (error) {
    const isKnown =
      error === GIVEN_UP ||
      error instanceof TurnRefusedError ||
      isVelvetRopeError(error, 'turn-timeout') ||
      isVelvetRopeError(error, 'turn-cancelled') ||
      (scene.isClosing(process) && isVelvetRopeError(error, 'closed')) ||
      isVelvetRopeError(error, 'backend-unavailable')
    if (!isKnown) process.onUncaught(error)
    // A line that refused it has not admitted it. Where nothing has gone wrong, answers come.
    if (!(error instanceof TurnRefusedError) && scene.struck.length > 0) scene.onTurnUnheard()
    const hasGivenUp = error === GIVEN_UP || isVelvetRopeError(error, 'turn-timeout')
    if (hasGivenUp && scene.struck.length > 0) await sleep(STILL_SENT)
  } finally {
    clearTimeout(timer)
    if (process.isAlive) scene.calling.delete(waiting)
  }
}

function optionsOf({ cost, costs, holds }: TurnPlan) {
  return { cost, ...(costs !== undefined && { costs }), ...(holds !== undefined && { holdMs: holds.most }) }
}

/** Holds a turn, settles it, and releases it, as planned. Never rejects. */
async function hold(
  scene: Scene,
  process: SimProcess,
  { holds = AT_ONCE, settles }: TurnPlan,
  turn: Turn,
): Promise<void> {
  if (holds !== AT_ONCE) scene.record.expectLeave(turn, holds.most)
  void settleWhileRunning(scene, process, turn, settles)
  if (holds.release === undefined) return settleAfterEnd(scene, process, turn, settles)
  if (holds.release > 0) await sleep(holds.release)
  scene.record.leave(process, turn)
  await turn.release()
  settleAfterEnd(scene, process, turn, settles)
}
