import { endOfPeriod } from '../../../src/core/calendar.ts'
import { EPOCH } from '../world/process.ts'
import type { Random } from '../world/random.ts'
import { intervalOf, type JobPlan, type KeyPlan, type Plan, type TurnPlan } from './plan.ts'
import { type CalendarPlan, type QuotaPlan, type SetPlan, type SettlePlan, unitsIn } from './set-plan.ts'

/** The named unit of quotas. */
export const UNIT = 'tokens'
/** Rolling windows, and how long the work of a key may take by them, if it is not slower by its pace; milliseconds. */
const SHORTEST_WINDOW = 1_000
const LONGEST_WINDOW = 5_000
const LONGEST_WORK = 4_500
/** The longest handler that holds a place; milliseconds. */
const LONGEST_HANDLER = 600
/** Longer than any run lasts; milliseconds. */
export const LONGEST_HOLD = 600_000
const ZONES = ['UTC', 'America/New_York', 'Asia/Kathmandu', 'Australia/Lord_Howe'] as const

type Work = Pick<Plan, 'keys' | 'jobs' | 'turns'>
export type WithSets = Work & Pick<Plan, 'ahead'>

/**
 * Gives the keys of a good part of the runs a quota or two, places, or both; jobs and turns name what they cost, and settle. It
 * draws apart: the other runs keep all that they draw.
 */
export function withSets(random: Random, work: Work): WithSets {
  if (!random.chance(0.42)) return work
  const hasTokens = random.chance(0.55)
  const named = hasTokens ? withCosts(random.fork('costs'), work) : work
  const keys = named.keys.map((key, index) => {
    // The first key is the hot one.
    if (index > 0 && random.chance(0.35)) return key
    return { ...key, ...drawSet(random.fork(`set ${index}`), named, key, hasTokens) }
  })
  const placed = withPlaces(random.fork('places'), { ...named, keys })
  const settled = hasTokens ? withSettling(random.fork('settling'), placed) : placed
  return random.chance(0.1) ? withCalendar(random.fork('calendar'), settled) : settled
}

function drawSet(random: Random, work: Work, key: KeyPlan, hasTokens: boolean): SetPlan {
  const concurrency = random.chance(0.5) ? random.between(1, 4) : undefined
  const quotas: QuotaPlan[] = []
  if (hasTokens && random.chance(0.8)) {
    quotas.push(drawQuota(random, work, key, { unit: UNIT, each: random.between(1, 4) }))
  }
  const isNeeded = quotas.length === 0 && concurrency === undefined
  if (isNeeded || random.chance(0.5)) quotas.push(drawQuota(random, work, key, {}))
  // Both look at the same, over another time.
  if (quotas.length > 0 && random.chance(0.2)) {
    const { amount, window, ...counted } = quotas[0]!
    const longer = { ...counted, amount: Math.ceil(amount * 1.6), window: (window as number) * 3 }
    if (longer.window <= LONGEST_WINDOW) quotas.push(longer)
  }
  return { ...(quotas.length > 0 && { quotas }), ...(concurrency !== undefined && { concurrency }) }
}

/** So large that it binds while the work lasts, and so that this does not take much longer than by the pace alone. */
export function drawQuota(
  random: Random,
  { jobs, turns }: Work,
  key: KeyPlan,
  counted: Pick<QuotaPlan, 'unit' | 'each'>,
): QuotaPlan {
  const whole = { amount: 1, window: 1, ...counted }
  const own = [...jobs, ...turns].filter((item) => item.key === key.key)
  const units = own.map((item) => unitsIn(whole, item) * startsOf(item))
  const all = Math.max(
    1,
    units.reduce((sum, one) => sum + one, 0),
  )
  const byPace = intervalOf(key) * own.reduce((sum, item) => sum + item.cost * startsOf(item), 0)
  const lasts = Math.max(byPace * random.log(1.1, 2), random.log(300, 3_000))
  const windows = random.log(1.3, 6)
  const longest = Math.max(LONGEST_WINDOW, intervalOf(key) * 3)
  const most = Math.max(byPace * 2, LONGEST_WORK)
  const window = Math.round(Math.max(SHORTEST_WINDOW, Math.min(longest, Math.min(lasts, most) / windows)))
  const least = random.chance(0.08) ? 1 : Math.max(1, ...own.map((item) => unitsIn(whole, item)))
  return { amount: Math.max(least, counted.each ?? 1, Math.round(all / windows)), window, ...counted }
}

/** How often it starts where nothing goes wrong. */
function startsOf(item: JobPlan | TurnPlan): number {
  return 'attempts' in item ? Math.min(item.attempts, item.handler.fails + 1) : 1
}

function withCosts(random: Random, { keys, jobs, turns }: Work): Work {
  const most = random.between(2, 12)
  const named = <Item extends JobPlan | TurnPlan>(item: Item): Item =>
    random.chance(0.6) ? { ...item, costs: { [UNIT]: random.between(1, most) } } : item
  return { keys, jobs: jobs.map(named), turns: turns.map(named) }
}

/** Handlers and turns that hold their places for a while. */
function withPlaces(random: Random, { keys, jobs, turns }: Work): Work {
  const placed = new Map(
    keys.flatMap(({ key, concurrency }) => (concurrency === undefined ? [] : [[key, concurrency]])),
  )
  const isSlow = random.chance(0.7)
  return {
    keys,
    jobs: jobs.map((job) => {
      const places = placed.get(job.key)
      if (places === undefined || !isSlow) return job
      const own = jobs.filter(({ key }) => key === job.key).length
      const longest = Math.max(10, Math.min(LONGEST_HANDLER, (LONGEST_WORK * places) / own))
      return { ...job, handler: { ...job.handler, takes: random.log(5, longest) } }
    }),
    turns: turns.map((turn) => (placed.has(turn.key) ? { ...turn, holds: drawHold(random) } : turn)),
  }
}

export function drawHold(random: Random) {
  const most = Math.round(random.log(20, 1_500))
  return random.weighted([
    [65, { most: LONGEST_HOLD, release: Math.round(random.log(1, 400)) }],
    [20, { most }],
    [15, { most, release: most + random.between(-20, 100) }],
  ])
}

function withSettling(random: Random, { keys, jobs, turns }: Work): Work {
  const share = random.pick([0.3, 0.7, 1])
  const settling = <Item extends JobPlan | TurnPlan>({ takes }: { takes: number }, item: Item) =>
    random.chance(share) ? drawSettle(random, takes, item.costs?.[UNIT] ?? 2) : undefined
  return {
    keys,
    jobs: jobs.map((job) => {
      const settles = settling(job.handler, job)
      return settles === undefined ? job : { ...job, handler: { ...job.handler, settles } }
    }),
    turns: turns.map((turn) => {
      const settles = settling({ takes: turn.holds?.release ?? 0 }, turn)
      if (settles === undefined) return turn
      // A turn that was released settles no more. It may get a place, which others wait for.
      return {
        ...(settles.isLate && { holds: { most: Math.ceil(settles.after) + 1_000 } }),
        ...turn,
        settles,
      }
    }),
  }
}

/** Less, more, twice, or when it has ended. */
function drawSettle(random: Random, takes: number, estimate: number): SettlePlan {
  const less = () => random.between(0, estimate)
  const more = () => estimate + random.between(0, estimate)
  const isLate = random.chance(0.12)
  return {
    unit: UNIT,
    amounts: random.weighted([
      [35, [less()]],
      [25, [more()]],
      [20, [less(), more()]],
      [20, [more(), less()]],
    ]),
    atOnce: random.chance(0.5),
    after: isLate ? Math.round(random.log(1, 1_500)) : random.next() * takes,
    isLate,
  }
}

/** A quota of a calendar, with the end of a period while the work lasts: the clock of Redis is set for that. */
function withCalendar(random: Random, work: Work): WithSets {
  const [first, ...others] = work.keys
  const { amount } = drawQuota(random, work, first!, {})
  const calendar: CalendarPlan = { period: random.pick(['hour', 'day', 'week']), zone: random.pick(ZONES) }
  const quota = { amount, window: calendar }
  const ahead = (endOfPeriod(calendar, EPOCH) - EPOCH) / 1_000 - Math.round(random.log(300, 2_500))
  return { ...work, keys: [{ ...first!, quotas: [...(first!.quotas ?? []), quota] }, ...others], ahead }
}
