import { z } from 'zod'
import type { FamilyView } from '../core/family-view.ts'

/** What totals can be sorted by. */
export const FAMILY_COLUMNS = ['path', 'fill', 'waiting', 'running'] as const

/** Which live totals to list, and in which order. */
export const familyQuerySchema = z.strictObject({
  /** Only the total of this key and those below it: of `a` these are `a/`, `a/b/` and so on. Default: every total. */
  under: z.string().min(1).optional(),
  /** A field of the view, with `-` in front for the largest first. Default `-fill`. */
  sort: z.enum([...FAMILY_COLUMNS, ...FAMILY_COLUMNS.map((field) => `-${field}` as const)]).default('-fill'),
  /** Totals on a page, 1 to 1,000. Default 100. */
  limit: z.int().min(1).max(1_000).default(100),
  /** The `cursor` of the page before. */
  cursor: z.string().optional(),
})

export type FamilyQueryInput = z.input<typeof familyQuerySchema>
export type FamilyQuery = z.output<typeof familyQuerySchema>

/** One page of live totals. */
export interface FamilyPage {
  readonly families: readonly FamilyView[]
  /** How many the query matches, on all pages. */
  readonly total: number
  /** Pass it on to get the next page; absent on the last. */
  readonly cursor?: string
}

export function isFamilyUnder(path: string, { under }: Pick<FamilyQuery, 'under'>): boolean {
  return under === undefined || path.startsWith(`${under}/`)
}
