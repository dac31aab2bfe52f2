import type { Plan } from '../plan/plan.ts'
import type { SetPlan } from '../plan/set-plan.ts'

/** Whether a plan still fails in the same way. */
export type Fails = (plan: Plan) => Promise<boolean>

/**
 * Makes a failing plan smaller as long as it fails in the same way: fewer faults, jobs, turns, actions, keys and processes, and
 * then calmer ones.
 *
 * @param most how many smaller plans are tried
 */
export async function shrink(plan: Plan, fails: Fails, most: number): Promise<Plan> {
  let best = plan
  let left = most
  const attempt = async (smaller: Plan): Promise<boolean> => {
    // Without a scheduler nothing ends, so that would fail in another way.
    if (left <= 0 || !hasScheduler(smaller)) return false
    left -= 1
    if (!(await fails(smaller))) return false
    best = smaller
    return true
  }
  for (let before = sizeOf(best) + 1; sizeOf(best) < before && left > 0; ) {
    before = sizeOf(best)
    for (const list of ['faults', 'actions', 'turns', 'jobs'] as const) await thin(list, () => best, attempt)
    for (const simpler of simplifications(best)) await attempt(simpler(best))
  }
  return best
}

function hasScheduler({ workers, schedulers }: Plan): boolean {
  return schedulers > 0 || workers.some(({ scheduler }) => scheduler)
}

/** Leaves out halves, then quarters, down to single ones. */
async function thin(
  list: 'faults' | 'actions' | 'turns' | 'jobs',
  best: () => Plan,
  attempt: (plan: Plan) => Promise<boolean>,
): Promise<void> {
  for (
    let size = Math.ceil(best()[list].length / 2);
    size >= 1;
    size = size === 1 ? 0 : Math.ceil(size / 2)
  ) {
    for (let from = 0; from < best()[list].length; ) {
      const items = best()[list]
      const smaller = { ...best(), [list]: [...items.slice(0, from), ...items.slice(from + size)] } as Plan
      if (!(await attempt(smaller))) from += size
    }
  }
}

/** Ways to make a plan simpler that may or may not keep its failure. */
function simplifications(plan: Plan): ((plan: Plan) => Plan)[] {
  const calm = { least: 100, jitter: 10, spikes: 0, spike: 0 }
  return [
    (best) => ({ ...best, views: false }),
    (best) => ({ ...best, shards: 1 }),
    (best) => ({ ...best, clocks: {} }),
    (best) => ({ ...best, network: { there: calm, back: calm, splits: 0 } }),
    (best) => ({ ...best, producers: 1, jobs: best.jobs.map((job) => ({ ...job, producer: 1 })) }),
    (best) => ({
      ...best,
      callers: Math.min(1, best.callers),
      turns: best.turns.map((turn) => ({ ...turn, caller: 1 })),
    }),
    (best) => ({ ...best, callers: best.turns.length === 0 ? 0 : best.callers }),
    (best) => ({ ...best, keys: best.keys.filter(({ key }) => isUsed(best, key)) }),
    (best) => ({ ...best, keys: best.keys.map(({ warmUp: _, ...key }) => key) }),
    ...simplerSets(plan),
    ...plan.workers.slice(1).map((worker) => (best: Plan) => {
      return { ...best, workers: best.workers.filter((other) => other !== worker) }
    }),
    (best) => ({ ...best, jobs: best.jobs.map((job) => ({ ...job, bytes: 0 })) }),
    (best) => ({ ...best, jobs: best.jobs.map(({ batch: _, ...job }) => job) }),
    (best) => ({ ...best, jobs: best.jobs.map(({ deadline: _, ...job }) => job) }),
    (best) => ({ ...best, jobs: best.jobs.map((job) => ({ ...job, comesBack: 0 })) }),
    (best) => ({
      ...best,
      jobs: best.jobs.map((job) => ({
        ...job,
        handler: { takes: job.handler.takes, computes: 0, fails: 0, hangs: false },
      })),
    }),
  ]
}

/** Without any set, without one part of them, and without what has to do with them. */
function simplerSets({ keys }: Plan): ((plan: Plan) => Plan)[] {
  const most = Math.max(0, ...keys.map(({ quotas = [] }) => quotas.length))
  const changed = (change: (set: SetPlan) => SetPlan) => (best: Plan) => ({
    ...best,
    keys: best.keys.map((key) => ({ ...paceOf(key), ...change(key) })),
    actions: best.actions.map((action) =>
      action.do === 'limit' ? { ...paceOf(action), ...change(action) } : action,
    ),
  })
  const without =
    (place: number) =>
    ({ quotas = [], concurrency }: SetPlan) => ({
      quotas: quotas.filter((_, index) => index !== place),
      ...(concurrency !== undefined && { concurrency }),
    })
  return [
    changed(() => ({})),
    changed(({ quotas = [] }) => ({ quotas })),
    ...Array.from({ length: most }, (_, place) => changed(without(place))),
    (best) => ({ ...best, turns: best.turns.map(({ settles: _, ...turn }) => turn) }),
    (best) => ({ ...best, turns: best.turns.map(({ holds: _, ...turn }) => turn) }),
    (best) => ({
      ...best,
      jobs: best.jobs.map(({ handler: { settles: _, ...handler }, ...job }) => ({ ...job, handler })),
    }),
    (best) => ({ ...best, jobs: best.jobs.map(({ costs: _, ...job }) => job) }),
  ]
}

function paceOf<Item extends SetPlan>({ quotas: _, concurrency: __, ...pace }: Item) {
  return pace
}

function isUsed({ jobs, turns, actions }: Plan, key: string): boolean {
  return [...jobs, ...turns, ...actions].some((item) => 'key' in item && item.key === key)
}

function sizeOf({ faults, jobs, turns, actions, workers, keys }: Plan): number {
  return [faults, jobs, turns, actions, workers, keys].reduce((sum, { length }) => sum + length, 0)
}
