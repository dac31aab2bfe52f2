import type { Struck } from '../actors/faults.ts'
import type { Recorder } from '../actors/recorder.ts'
import { isLossy } from '../plan/fault.ts'
import type { Failure } from './judge.ts'
import { HAS_CLOCK } from './newcomers.ts'
import type { Life } from './troubles.ts'

/** After a loss fences go on so much later; milliseconds. */
const LONGEST_LOSS = 3_600_000

/**
 * The fence of a key grows with every start, whatever the store has forgotten: after a loss it goes on an hour later. Where the
 * clock was set back by more, nothing is left that could say so, and fences begin again at the loss. So they do where it was set back
 * by less, the store has lost everything, and no process has lived through that which could tell.
 */
export function judgeFences(
  fences: Recorder['fences'],
  struck: readonly Struck[] = [],
  lives: readonly Life[] = [],
): Failure[] {
  const isFarBack = struck.some(({ fault }) => fault.kind === 'step' && fault.by <= -LONGEST_LOSS)
  const isUntold = ({ fault, from, until }: Struck) =>
    fault.kind === 'restart' &&
    fault.keeps === 'nothing' &&
    struck.some((one) => one.fault.kind === 'step' && one.fault.by < 0 && one.from <= until) &&
    lives.length > 0 &&
    lives.every((life) => !HAS_CLOCK.test(life.name) || life.from > from || life.until <= until)
  const begins = struck
    .filter((one) => (isFarBack && isLossy(one.fault)) || isUntold(one))
    .map(({ from }) => from)
  return [...begins, Number.POSITIVE_INFINITY]
    .toSorted((a, b) => a - b)
    .flatMap((until, index, all) =>
      judgeGrowth(
        fences.filter(({ at }) => at < until && at >= (all[index - 1] ?? Number.NEGATIVE_INFINITY)),
      ),
    )
}

function judgeGrowth(fences: Recorder['fences']): Failure[] {
  const last = new Map<string, { readonly fence: number; readonly id: string }>()
  const failures: Failure[] = []
  for (const { at, key, id, fence } of fences.toSorted((a, b) => a.at - b.at)) {
    const before = last.get(key)
    if (!Number.isSafeInteger(fence) || (before !== undefined && fence <= before.fence)) {
      const after = before === undefined ? '' : `, after ${before.fence} of ${before.id}`
      failures.push({ law: 'fence', at, message: `key ${key}: the fence of ${id} is ${fence}${after}` })
    }
    last.set(key, { fence: Math.max(fence, before?.fence ?? fence), id })
  }
  return failures
}
