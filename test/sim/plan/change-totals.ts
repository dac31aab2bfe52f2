import type { Random } from '../world/random.ts'
import { momentIn, type Span } from './busy.ts'
import type { Action, KeyPlan, Plan } from './plan.ts'

/** The operator freezes, pauses and lets go families, and changes the limits of totals, beside all that is done to keys. */
export function changingTotals(
  random: Random,
  totals: readonly KeyPlan[],
  actions: readonly Action[],
  spans: readonly Span[],
): Action[] {
  if (totals.length === 0 || random.chance(0.5)) return [...actions]
  const own = Array.from({ length: random.between(1, 4) }, () =>
    drawAction(random, random.pick(totals), spans),
  )
  const comesAndGoes = random.chance(0.3) ? drawComing(random, random.pick(totals), spans) : []
  return [...actions, ...own, ...comesAndGoes].sort((a, b) => a.at - b.at)
}

function drawAction(random: Random, total: KeyPlan, spans: readonly Span[]): Action {
  const { key } = total
  const at = Math.floor(momentIn(random, spans).at)
  switch (random.pick(['freeze', 'freeze', 'unfreeze', 'pause', 'limit', 'limit'] as const)) {
    case 'freeze':
      return { do: 'freeze', at, key, for: Math.round(random.log(10, 1_500)) }
    case 'unfreeze':
      return { do: 'unfreeze', at, key }
    case 'pause':
      return { do: 'pause', at, key, for: Math.round(random.log(10, 1_500)) }
    case 'limit':
      return { do: 'limit', at, ...changed(random, total) }
  }
}

/** In some runs a total is set only while its family is at work. It draws apart: the other runs keep all that they draw. */
export function withLateTotal<Whole extends Pick<Plan, 'totals' | 'actions'>>(
  random: Random,
  whole: Whole,
  spans: readonly Span[],
): Whole {
  const { totals = [], actions } = whole
  if (totals.length === 0 || !random.chance(0.3)) return whole
  const late = random.pick(totals)
  const at = Math.floor(momentIn(random, spans).at)
  const coming: Action = { do: 'limit', at, ...late }
  const others = actions.filter((action) => action.at >= at || !('key' in action && action.key === late.key))
  return {
    ...whole,
    totals: totals.map((total) => (total === late ? { ...total, comesLate: true as const } : total)),
    actions: [coming, ...others].sort((a, b) => a.at - b.at),
  }
}

/** Slower or faster, of other weight, and with its parts or without. */
function changed(random: Random, total: KeyPlan): KeyPlan {
  const { quotas, concurrency, weight: _, ...pace } = total
  const keeps = random.chance(0.6)
  return {
    ...pace,
    capacity: Math.max(1, Math.round(pace.capacity * random.log(0.4, 3))),
    rate: { count: Math.max(1, Math.round(pace.rate.count * random.log(0.4, 4))), per: pace.rate.per },
    ...(random.chance(0.5) && { weight: random.between(1, 4) }),
    ...(keeps && quotas !== undefined && { quotas }),
    ...(keeps && concurrency !== undefined && { concurrency }),
  }
}

/** It goes while work is under way, and in half of the runs it comes again. */
function drawComing(random: Random, total: KeyPlan, spans: readonly Span[]): Action[] {
  const { key } = total
  const at = Math.floor(momentIn(random, spans).at)
  if (random.chance(0.5)) return [{ do: 'unset', at, key }]
  return [
    { do: 'unset', at, key },
    { do: 'limit', at: at + random.between(0, 1_500), ...changed(random, total) },
  ]
}
