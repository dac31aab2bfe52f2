/** What a limit has beside its pace. */
export interface SetPlan {
  readonly quotas?: readonly QuotaPlan[]
  /** How many may run at once. */
  readonly concurrency?: number
}

/** What may start in a window. */
export interface QuotaPlan {
  readonly amount: number
  /** Milliseconds of a rolling window, or a period of a calendar. */
  readonly window: number | CalendarPlan
  /** Absent: cost units. */
  readonly unit?: string
  /** What a job counts that does not name the unit. */
  readonly each?: number
}

export interface CalendarPlan {
  readonly period: 'hour' | 'day' | 'week'
  readonly zone: string
}

/** A job or a turn as quotas see it. */
export interface CountedPlan {
  readonly cost: number
  readonly costs?: Readonly<Record<string, number>>
}

/** How an attempt says what it really used. */
export interface SettlePlan {
  readonly unit: string
  /** One after the other, each when the last was answered; or at once. */
  readonly amounts: readonly number[]
  readonly atOnce: boolean
  /** So long after its start, or after its end; milliseconds. */
  readonly after: number
  readonly isLate: boolean
}

/** How long a turn holds its place; milliseconds. */
export interface HoldPlan {
  /** The most that it may. */
  readonly most: number
  /** When it is released; absent: never. */
  readonly release?: number
}

/** What it counts in the quota before it is settled. */
export function unitsIn({ unit, each = 0 }: QuotaPlan, { cost, costs }: CountedPlan): number {
  return unit === undefined ? cost : (costs?.[unit] ?? each)
}

/** Whether there is more than a pace. */
export function isSet({ quotas = [], concurrency }: SetPlan): boolean {
  return quotas.length > 0 || concurrency !== undefined
}
