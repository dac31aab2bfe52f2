import type { LineView, Recent } from '../core/line-view.ts'
import type { Shaper } from '../shaper/shaper.ts'

/** How many jobs of a line a stream shows. */
const SHOWN = 50

/** What streams show of a shaper beside its buckets. */
export interface LiveViews {
  /** The line of a bucket, in the order of departure; null where there is none. */
  line(key: string): Promise<LineView | null>
  /** The last verdicts and departures of a bucket. */
  recent(key: string): Promise<Recent>
  /** Grows with every change of the rule book; 0 before it is known. */
  rulesVersion(): number
}

/** The one place where streams ask a shaper for these. */
export function liveViewsOf(shaper: Shaper): LiveViews {
  return {
    line: async (key) => (await shaper.line(key, { limit: SHOWN })) ?? null,
    recent: (key) => shaper.recent(key),
    rulesVersion: () => shaper.limits.version,
  }
}
