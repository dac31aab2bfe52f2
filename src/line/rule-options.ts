import { z } from 'zod'
import { BASE_ORIGINS } from '../core/rule-view.ts'
import { authorSchema } from './options.ts'

export const resetSchema = z.strictObject({
  /** Changes nothing unless this is the version in force. By default the version is not checked. */
  ifVersion: z.int().min(0).optional(),
})
export const handSchema = resetSchema.extend({
  /** Who sets it, for `list` to show: the name of a token or an operator. 1 to 256 characters. Default: no name. */
  by: authorSchema.optional(),
  /**
   * Refuses a pattern that is new by hand where as many are set by hand under the same `by`, or under the same first segment
   * of patterns. Default: no bound.
   */
  atMost: z.int().min(1).optional(),
})
export const loadSchema = resetSchema.extend({
  /** The layer: the program, a configuration file, or the environment. Default: `code`. */
  origin: z.enum(BASE_ORIGINS).default('code'),
  /** Who sets them, for `list` to show. 1 to 256 characters. Default: as `limitsBy` of the shaper. */
  by: authorSchema.optional(),
})

/** Options of `limits.reset`. */
export type ResetOptions = z.input<typeof resetSchema>
export const localSchema = handSchema.pick({ by: true, atMost: true })

/** Options of `limits.set` and `limits.unset`. */
export type ByHandOptions = z.input<typeof handSchema>
/** Options of `limits.setLocal`. */
export type LocalOptions = z.input<typeof localSchema>
/** Options of `limits.load`. */
export type LoadOptions = z.input<typeof loadSchema>
