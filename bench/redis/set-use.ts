/** What one worker process is started with. */
export interface SetOrder {
  readonly address: string
  readonly limit: string
  readonly takesMs: number
  readonly leaseMs: number
  readonly concurrency: number
}

/** A handler started or ended; by the monotonic clock of this machine, which all of its processes share, in microseconds. */
export interface Sight {
  readonly what: 'start' | 'end'
  readonly at: number
  readonly id: string
  readonly tokens: number
  /** Of which worker, from 0. */
  readonly worker: number
}

export function monotonicUs(): number {
  return Number(process.hrtime.bigint()) / 1_000
}

/** The share of the time from `from` to `until` in which `places` were taken, by starts of which each has its place until `lostAt` at most. */
export function shareOfPlaces(
  sights: readonly Sight[],
  places: number,
  { from, until }: { readonly from: number; readonly until: number },
  lostAt: (start: Sight) => number,
): { readonly share: number; readonly most: number } {
  const open = new Map<string, Sight[]>()
  const changes: { readonly at: number; readonly by: number }[] = []
  const close = (start: Sight, at: number) => {
    changes.push({ at: start.at, by: 1 }, { at: Math.min(at, lostAt(start)), by: -1 })
  }
  for (const sight of sights.toSorted((a, b) => a.at - b.at)) {
    const started = open.get(sight.id) ?? []
    open.set(sight.id, started)
    if (sight.what === 'start') started.push(sight)
    else {
      const start = started.pop()
      if (start !== undefined) close(start, sight.at)
    }
  }
  for (const start of [...open.values()].flat()) close(start, Number.POSITIVE_INFINITY)
  // At one moment a place is given back before it is taken.
  changes.sort((a, b) => a.at - b.at || a.by - b.by)
  let count = 0
  let most = 0
  let used = 0
  let last = from
  for (const { at, by } of [...changes, { at: until, by: 0 }]) {
    const now = Math.min(Math.max(at, from), until)
    used += (now - last) * Math.min(count, places)
    last = now
    count += by
    most = Math.max(most, count)
  }
  return { share: used / ((until - from) * places), most }
}
