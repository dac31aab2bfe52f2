import { z } from '@hono/zod-openapi'
import { quote } from '../core/describe.ts'
import { RuleBookConflictError } from '../core/errors.ts'
import type { LimitInput } from '../core/limit.ts'
import type { PreviewedChange } from '../line/preview-change.ts'
import { isWithin } from './access.ts'
import { invalid, Problem } from './problem.ts'
import { readQuery } from './query.ts'
import type { Call, House } from './route.ts'

/** What may be asked instead of a change of the rule book that all processes share. */
const asideFields = {
  dryRun: z
    .enum(['true', 'false'])
    .optional()
    .openapi({ description: '`true`: nothing is changed, and the answer says what the change would do.' }),
  scope: z
    .literal('local')
    .optional()
    .openapi({ description: '`local`: a limit of this process alone, in front of the line.' }),
}

/** Query of `PUT /v1/limits/{pattern}`. */
export const settingQuerySchema = z.strictObject(asideFields)
/** Query of `DELETE /v1/limits/{pattern}`. */
export const removalQuerySchema = z.strictObject({
  ...asideFields,
  override: z.literal('only').optional().openapi({
    description: '`only`: what was set or unset by hand goes, and what code or file say is in force again.',
  }),
})

/**
 * Answers a setting that is not one of the shared rule book; undefined: it is.
 *
 * @throws Problem 412 or 422
 */
export async function setAside(
  house: House,
  call: Call,
  limit: LimitInput,
  ifVersion: number | undefined,
): Promise<Response | undefined> {
  const { context, principal, subject: pattern } = call
  const { dryRun, scope } = readAside(context.req.url, settingQuerySchema, ifVersion)
  if (dryRun) return preview(house, call, { set: [pattern, limit] }, ifVersion)
  if (scope === undefined) return undefined
  return context.json(house.shaper.limits.setLocal(pattern, limit, { by: principal.name }))
}

/** The same for a removal. @throws Problem 404, 412 or 422 */
export async function removeAside(
  house: House,
  call: Call,
  ifVersion: number | undefined,
): Promise<Response | undefined> {
  const { context, subject: pattern } = call
  const { dryRun, scope, override } = readAside(context.req.url, removalQuerySchema, ifVersion)
  if (dryRun) {
    return preview(house, call, override === 'only' ? { reset: pattern } : { unset: pattern }, ifVersion)
  }
  if (scope === undefined) return undefined
  if (override !== undefined) {
    throw invalid([{ detail: 'expected scope=local or override=only in the query, got: both' }])
  }
  if (house.shaper.limits.unsetLocal(pattern)) return context.body(null, 204)
  throw new Problem('not-found', { detail: `this process has no limit of its own for ${quote(pattern)}` })
}

/** Of buckets that the token does not reach, nothing is told. */
async function preview(
  house: House,
  { context, principal }: Call,
  change: PreviewedChange,
  ifVersion: number | undefined,
) {
  const sees = (key: string) => isWithin(principal.prefixes, key)
  const found = await house.shaper.limits.preview(change, sees)
  if (ifVersion !== undefined && ifVersion !== found.version) {
    throw new RuleBookConflictError(ifVersion, found.version)
  }
  return context.json(found)
}

/** A limit of this process alone reaches nobody who waits, so there is nothing to preview. */
function readAside<Query extends typeof settingQuerySchema | typeof removalQuerySchema>(
  url: string,
  schema: Query,
  ifVersion: number | undefined,
) {
  const query = readQuery(url, schema, [])
  const dryRun = query.dryRun === 'true'
  if (dryRun && query.scope === 'local') {
    throw invalid([{ detail: 'expected dryRun=true or scope=local in the query, got: both' }])
  }
  if (ifVersion !== undefined && query.scope === 'local') {
    throw invalid([
      { detail: 'expected no If-Match with scope=local: a limit of one process has no version' },
    ])
  }
  return { ...query, dryRun }
}
