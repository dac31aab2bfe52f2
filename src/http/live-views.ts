import type { Shaper } from '../shaper/shaper.ts'

/** How many jobs of a line a stream shows. */
const SHOWN = 50

/** Of all jobs since the line began; growing numbers. */
export interface Flow {
  readonly admitted: number
  readonly departed: number
}

/** What streams show of a shaper beside its buckets. */
export interface LiveViews {
  /** Undefined where nobody counts. */
  flow(): Promise<Flow | undefined>
  /** The line of a bucket, in the order of departure; null where there is none. */
  line(key: string): Promise<object | null>
  /** The last verdicts and departures of a bucket. */
  recent(key: string): Promise<object>
  /** Grows with every change of the rule book; 0 before it is known. */
  rulesVersion(): number
}

/** The verbs as the shaper has them; whatever it lacks is shown as nothing. */
interface Verbs {
  flow(): Promise<Flow>
  line(key: string, options: { readonly limit: number }): Promise<object | undefined>
  recent(key: string): Promise<object>
}

/** The one place where streams ask a shaper for these. */
export function liveViewsOf(shaper: Shaper): LiveViews {
  const verbs = shaper as Shaper & Partial<Verbs>
  return {
    flow: async () => verbs.flow?.(),
    line: async (key) => (await verbs.line?.(key, { limit: SHOWN })) ?? null,
    recent: async (key) => (await verbs.recent?.(key)) ?? { verdicts: [], departures: [] },
    rulesVersion: () => shaper.limits.version,
  }
}
