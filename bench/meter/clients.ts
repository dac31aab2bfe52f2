import type { Ask } from '../products/meter/product.ts'
import type { Pace } from '../products/product.ts'
import { Intake } from './intake.ts'
import type { VirtualTime } from './virtual-time.ts'

/** Units in periods: no correct product allows that many in an hour. */
export const ENOUGH = 5_000

/** One key, met by one client, in virtual time. */
export interface Meeting {
  readonly ask: Ask
  readonly pace: Pace
  readonly time: VirtualTime
  readonly forMs: number
}

export interface Outcome {
  readonly intake: Intake
  /** How often it retried exactly at the given time, with no other client in between, and was refused. */
  readonly refusedThoughTold: number
}

export type Client = (meeting: Meeting) => Promise<Outcome>

/** Asks for as many as it gets, and retries at the given time. */
export function patient(amount: number): Client {
  return async (meeting) => {
    const visit = visitor(meeting)
    let refusedThoughTold = 0
    let wasTold = false
    while (!visit.isOver()) {
      const wait = await visit.take(amount)
      if (wait > 0 && wasTold) refusedThoughTold++
      wasTold = wait > 0
      meeting.time.goOn(wait)
    }
    return { intake: visit.intake, refusedThoughTold }
  }
}

/** Asks without a pause, whatever the response. */
export function restless(everyMs: number): Client {
  return async (meeting) => {
    const visit = visitor(meeting)
    while (!visit.isOver()) {
      await visit.take(1)
      meeting.time.goOn(everyMs)
    }
    return { intake: visit.intake, refusedThoughTold: 0 }
  }
}

/** Shares of a period for which a greedy client asks. */
const STEPS = 100

/** Opens a window with one unit, takes the rest in its last millisecond, and in the next window as much as it gets. */
export const atTheEdges: Client = async (meeting) => {
  const visit = visitor(meeting)
  const { periodMs } = meeting.pace
  const takeAll = async () => {
    while ((await visit.take(1)) === 0);
  }
  while (!visit.isOver()) {
    await visit.take(1)
    meeting.time.goOn(periodMs - 1)
    await takeAll()
    meeting.time.goOn(1)
    for (let step = 0; step < STEPS; step++) {
      await takeAll()
      meeting.time.goOn(periodMs / STEPS)
    }
  }
  return { intake: visit.intake, refusedThoughTold: 0 }
}

/** Every period asks for 60 %, 60 % and 40 % of what a period gives: the second does not fit, the third does. */
export const inLargeParts: Client = async (meeting) => {
  const visit = visitor(meeting)
  const { count, periodMs } = meeting.pace
  while (!visit.isOver()) {
    for (const share of [0.6, 0.6, 0.4]) await visit.take(Math.round(count * share))
    meeting.time.goOn(periodMs)
  }
  return { intake: visit.intake, refusedThoughTold: 0 }
}

function visitor({ ask, pace, time, forMs }: Meeting) {
  const intake = new Intake()
  const end = time.nowMs + forMs
  return {
    intake,
    isOver: () => time.nowMs >= end || intake.total >= pace.count * ENOUGH,
    async take(amount: number): Promise<number> {
      const wait = await ask('key', amount)
      if (wait === 0) intake.add(time.nowMs, amount)
      return wait
    },
  }
}
