import { isWithin } from '../../../src/conformance/totals.ts'
import type { Random } from '../world/random.ts'
import { drawHold, drawQuota, UNIT, type WithSets } from './draw-sets.ts'
import { intervalOf, type JobPlan, type KeyPlan, type Plan, type TurnPlan } from './plan.ts'

/** How long the work of a family may take by the pace of its total; milliseconds. */
const SHORTEST_WORK = 300
const LONGEST_WORK = 8_000
/** A family shares nothing that has hardly any work: so many jobs it may get. */
const MOST_JOBS = 40
/** The longest handler that holds a place of a total; milliseconds. */
const LONGEST_HANDLER = 400
/** What families are called: no key that is drawn elsewhere begins like that. */
const NAMES = ['f', 'g'] as const

type WithTotals = WithSets & Pick<Plan, 'totals'>

/**
 * Lets the keys of one run in four stand in a family or two with totals: each becomes several children, which share its work. It draws
 * apart: the other runs keep all that they draw.
 */
export function withTotals(random: Random, work: WithSets): WithTotals {
  if (!random.chance(0.25)) return work
  const families = NAMES.slice(0, work.keys.length > 1 && random.chance(0.3) ? 2 : 1)
  return families.reduce<WithTotals>((before, name, index) => {
    const own = random.fork(name)
    const keys = work.keys.filter((_, at) => at % families.length === index)
    // The first key is the hot one.
    const inside = keys.filter((_, at) => at === 0 || own.chance(0.7))
    return withFamily(own, before, name, inside)
  }, work)
}

function withFamily(random: Random, work: WithTotals, name: string, keys: readonly KeyPlan[]): WithTotals {
  const isDeep = random.chance(0.4)
  const children = new Map(keys.map((key) => [key.key, drawChildren(random, name, key, isDeep, keys.length)]))
  const moved = <Item extends JobPlan | TurnPlan>(item: Item): Item => {
    const own = children.get(item.key)
    if (own === undefined) return item
    const { key } = random.chance(0.4) ? own[0]! : random.pick(own)
    return { ...item, key }
  }
  const inFamily = {
    ...work,
    keys: work.keys.flatMap((key) => children.get(key.key) ?? [key]),
    jobs: moreOf(random.fork('more'), work.jobs, children).map(moved),
    turns: work.turns.map(moved),
  }
  const inner = isDeep ? [drawTotal(random.fork('inner'), inFamily, `${name}/in/`)] : []
  const outermost = drawTotal(random.fork('outer'), inFamily, `${name}/`)
  const { set, ...rest } = drawParts(random.fork('parts'), inFamily, outermost)
  return { ...rest, totals: [...(work.totals ?? []), { ...outermost, ...set }, ...inner] }
}

/** In most families there is more work than one key alone would have. */
function moreOf(random: Random, jobs: readonly JobPlan[], keys: ReadonlyMap<string, unknown>): JobPlan[] {
  const copies = random.chance(0.6) ? random.between(1, 3) : 0
  const own = jobs.filter(({ key }) => keys.has(key))
  const room = Math.max(0, MOST_JOBS - jobs.length)
  const more = Array.from({ length: copies }, (_, n) =>
    own.map((job) => ({ ...job, id: `${job.id}-${n + 1}` })),
  )
  return [...jobs, ...more.flat().slice(0, room)].sort((a, b) => a.at - b.at)
}

/** Some stand below an inner total; one may be the key before the slash. */
function drawChildren(
  random: Random,
  name: string,
  key: KeyPlan,
  isDeep: boolean,
  keys: number,
): readonly [KeyPlan, ...KeyPlan[]] {
  const count = random.between(keys > 1 ? 1 : 2, keys > 3 ? 2 : 4)
  const suffix = key.key.replaceAll(/[/ ]/g, '-')
  const own = Array.from({ length: count }, (_, index): KeyPlan => {
    const path = isDeep && random.chance(0.6) ? `${name}/in/` : `${name}/`
    const isBefore = keys === 1 && index === count - 1 && random.chance(0.15)
    return {
      ...key,
      key: isBefore ? path.slice(0, -1) : `${path}${suffix}${index}`,
      ...(random.chance(0.4) && { weight: random.between(1, 4) }),
    }
  })
  return own as [KeyPlan, ...KeyPlan[]]
}

/** So slow that it often binds, and so fast that the work does not take much longer by it than by the limits of the keys. */
function drawTotal(random: Random, { keys, jobs, turns }: WithTotals, path: string): KeyPlan {
  const below = [...jobs, ...turns].filter(({ key }) => isWithin(key, path))
  const units = (items: readonly (JobPlan | TurnPlan)[]) => items.reduce((sum, { cost }) => sum + cost, 0)
  const slowest = Math.max(
    0,
    ...keys.map((key) => intervalOf(key) * units(below.filter((item) => item.key === key.key))),
  )
  const lasts = Math.min(
    Math.max(SHORTEST_WORK, slowest * random.log(0.6, 2.5)),
    Math.max(LONGEST_WORK, slowest),
  )
  const perSecond = Math.min(1_000, (1_000 * Math.max(1, units(below))) / lasts)
  const costliest = Math.max(1, ...below.map(({ cost }) => cost))
  const tolerance = random.weighted<number | undefined>([
    [70, undefined],
    [30, random.between(2, 40)],
  ])
  return {
    key: path,
    capacity: random.weighted([
      [50, random.between(costliest, costliest + 20)],
      [40, random.between(20, 300)],
      [10, 10_000],
    ]),
    rate:
      perSecond >= 1
        ? { count: Math.max(1, Math.round(perSecond)), per: 1_000 }
        : { count: 1, per: Math.round(1_000 / perSecond) },
    ...(tolerance !== undefined && { tolerance }),
    ...(random.chance(0.4) && { weight: random.between(1, 4) }),
  }
}

/** A quota of an outermost total, places, or both, in some families; handlers and turns take a while there. */
function drawParts(random: Random, work: WithTotals, total: KeyPlan) {
  const isBelow = ({ key }: JobPlan | TurnPlan) => isWithin(key, total.key)
  const asOne = <Item extends JobPlan | TurnPlan>(items: readonly Item[]) =>
    items.filter(isBelow).map((item) => ({ ...item, key: total.key }))
  const own = { keys: [], jobs: asOne(work.jobs), turns: asOne(work.turns) }
  const hasTokens = own.jobs.some(({ costs }) => costs?.[UNIT] !== undefined)
  const counted = hasTokens && random.chance(0.6) ? { unit: UNIT, each: random.between(1, 4) } : {}
  const quotas = random.chance(0.3) ? [drawQuota(random.fork('quota'), own, total, counted)] : []
  const concurrency = random.chance(0.25) ? random.between(1, 5) : undefined
  const set = { ...(quotas.length > 0 && { quotas }), ...(concurrency !== undefined && { concurrency }) }
  if (concurrency === undefined) return { ...work, set }
  const longest = Math.max(
    10,
    Math.min(LONGEST_HANDLER, (4_500 * concurrency) / Math.max(1, own.jobs.length)),
  )
  return {
    ...work,
    set,
    jobs: work.jobs.map((job) => {
      if (!isBelow(job)) return job
      return { ...job, handler: { ...job.handler, takes: random.log(5, longest) } }
    }),
    turns: work.turns.map((turn) =>
      isBelow(turn) && turn.holds === undefined ? { ...turn, holds: drawHold(random) } : turn,
    ),
  }
}
