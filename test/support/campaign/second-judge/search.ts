import type { Operation } from './operations.ts'

export type SearchResult =
  | { readonly verdict: 'fits' }
  | { readonly verdict: 'undecided' }
  /** No order fits; the longest one that did could not be continued with `stuck`. */
  | {
      readonly verdict: 'no order'
      readonly stuck: readonly Operation[]
      readonly waiting: number
      readonly soft: number
    }

interface State {
  /** Index of the first operation that is not done. */
  readonly low: number
  /** Those behind it that are. */
  readonly done: ReadonlySet<number>
  readonly waiting: number
  /** Units of departures of which the line must have learned by now: it admitted others into their room. */
  readonly freed: number
  /** Departures so far, in units: those that the line may not know of are the last of these. */
  readonly departed: readonly { readonly units: number; readonly until: number }[]
}

/**
 * Looks for one order of the operations of a key in which each happens within its interval and finds what it requires: the
 * search of Wing and Gong for linearizability, with Lowe's memory of the states that led nowhere. A key is searched alone, because
 * keys have nothing in common.
 *
 * @param mostStates so many states are looked at before it gives up
 */
export function searchOrder(
  operations: readonly Operation[],
  capacity: number,
  mostStates: number,
): SearchResult {
  const index = new Map(operations.map((operation, at) => [operation, at]))
  const dead = new Set<string>()
  let farthest: { readonly state: State; readonly count: number } | undefined
  let states = 0

  const isDone = (state: State, at: number) => at < state.low || state.done.has(at)

  /** Operations that may come next: nothing that must have come first is missing. */
  const candidates = (state: State): number[] => {
    let firstEnd = Number.POSITIVE_INFINITY
    const open: number[] = []
    for (let at = state.low; at < operations.length && operations[at]!.from <= firstEnd; at++) {
      if (isDone(state, at)) continue
      const { to, isOptional } = operations[at]!
      open.push(at)
      if (!isOptional) firstEnd = Math.min(firstEnd, to)
    }
    return open
      .filter((at) => operations[at]!.from <= firstEnd)
      .filter((at) => operations[at]!.after.every((before) => isDone(state, index.get(before)!)))
      .sort((a, b) => operations[a]!.to - operations[b]!.to)
  }

  const isOver = (state: State) => {
    for (let at = state.low; at < operations.length; at++)
      if (!isDone(state, at) && !operations[at]!.isOptional) return false
    return true
  }

  const visit = (start: State): boolean => {
    let state = start
    let open = candidates(state)
    // An operation that changes nothing and fits may come first in any order that continues from here.
    for (let free = firstFree(state, open); free !== undefined; free = firstFree(state, open)) {
      state = after(state, free)
      open = candidates(state)
    }
    if (isOver(state)) return true
    const count = state.low + state.done.size
    if (farthest === undefined || count > farthest.count) farthest = { state, count }
    const name = `${state.low} ${[...state.done].sort((a, b) => a - b).join()} ${state.freed}`
    if (dead.has(name)) return false
    if (++states > mostStates) return false
    for (const at of open) {
      const next = apply(state, at)
      if (next !== undefined && visit(next)) return true
      if (states > mostStates) return false
    }
    dead.add(name)
    return false
  }

  const firstFree = (state: State, open: readonly number[]) =>
    open.find((at) => operations[at]!.kind === 'refuse' && apply(state, at) !== undefined)

  const after = (state: State, at: number, change: Partial<State> = {}): State => {
    const done = new Set(state.done).add(at)
    let { low } = state
    while (done.delete(low)) low += 1
    return { ...state, ...change, low, done }
  }

  const apply = (state: State, at: number): State | undefined => {
    const { kind, cost, from, softUntil, isCounted } = operations[at]!
    const { waiting, departed } = state
    switch (kind) {
      case 'arrive': {
        const soft = softOf(state, from)
        if (waiting + cost > capacity) return undefined
        // The line had room for it, so it knew of enough departures.
        const counted = Math.min(soft, capacity - waiting - cost)
        return after(state, at, { waiting: waiting + cost, freed: allOf(departed) - counted })
      }
      case 'refuse':
        return waiting + softOf(state, from) + cost > capacity ? after(state, at) : undefined
      case 'depart':
        return after(state, at, {
          waiting: waiting - (isCounted ? cost : 0),
          departed: [...departed, { units: cost, until: softUntil }],
        })
      case 'back':
        return after(state, at, {
          waiting: waiting + cost,
          freed: allOf(departed) - Math.max(0, softOf(state, from) - cost),
        })
      case 'leave':
        return after(state, at, { waiting: waiting - cost })
    }
  }

  const first: State = { low: 0, done: new Set(), waiting: 0, freed: 0, departed: [] }
  if (visit(first)) return { verdict: 'fits' }
  if (states > mostStates || farthest === undefined) return { verdict: 'undecided' }
  const { state } = farthest
  const stuck = candidates(state).map((at) => operations[at]!)
  return { verdict: 'no order', stuck, waiting: state.waiting, soft: softOf(state, stuck[0]?.from ?? 0) }
}

/** Units that have departed and that the line may still have counted as waiting at `at`. */
function softOf({ departed, freed }: State, at: number): number {
  const known = allOf(departed.filter(({ until }) => until < at))
  const all = allOf(departed)
  return all - Math.min(all, Math.max(freed, known))
}

function allOf(departed: State['departed']): number {
  return departed.reduce((all, { units }) => all + units, 0)
}
