import { firstSegment } from './key.ts'

/**
 * The name under which a line keeps a job whose id another first segment has for a name already: so no tenant takes another's ids
 * away. Ids hold no slash.
 */
export function twinName(id: string, key: string): string {
  return `${id}/${firstSegment(key)}`
}

/** Whether two keys have their first segment in common, and with it the ids of their jobs. */
export function sharesIds(one: string, other: string): boolean {
  return firstSegment(one) === firstSegment(other)
}
