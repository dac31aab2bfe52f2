import { setImmediate as passTurn } from 'node:timers/promises'
import type { Awaitable } from '../line/awaitable.ts'

/** Drives work that pauses now and then, and lets others have their turn meanwhile; what is short is done at once. */
export function inTurns<Result>(work: Generator<undefined, Result, void>): Awaitable<Result> {
  const step = work.next()
  return step.done ? step.value : goOn(work)
}

async function goOn<Result>(work: Generator<undefined, Result, void>): Promise<Result> {
  for (;;) {
    await passTurn()
    const step = work.next()
    if (step.done) return step.value
  }
}
