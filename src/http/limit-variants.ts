import { z } from '@hono/zod-openapi'
import { quote } from '../core/describe.ts'
import type { LimitInput } from '../core/limit.ts'
import { RuleBookConflictError } from '../core/rule-errors.ts'
import type { PreviewedChange } from '../line/preview-change.ts'
import { invalid, Problem } from './problem.ts'
import { readQuery } from './query.ts'
import { isWithin } from './rights.ts'
import { assertRoomToAct } from './room.ts'
import type { Call, RouteContext } from './route.ts'

/** Query fields that ask for something else than a change of the shared rule book. */
const variantFields = {
  dryRun: z
    .enum(['true', 'false'])
    .optional()
    .openapi({ description: '`true`: changes nothing, and answers what the change would do.' }),
  scope: z
    .literal('local')
    .optional()
    .openapi({ description: '`local`: a limit of this process alone, applied before the line.' }),
}

/** Query of `PUT /v1/limits/{pattern}`. */
export const settingQuerySchema = z.strictObject(variantFields)
/** Query of `DELETE /v1/limits/{pattern}`. */
export const removalQuerySchema = z.strictObject({
  ...variantFields,
  override: z.literal('only').optional().openapi({
    description:
      '`only`: removes what was set or unset by hand, so that the rule of code or file is in force again.',
  }),
})

/**
 * Answers a dry run or a local limit. Returns undefined for a change of the shared rule book.
 *
 * @throws Problem 412 or 422
 */
export async function setVariant(
  api: RouteContext,
  call: Call,
  limit: LimitInput,
  ifVersion: number | undefined,
): Promise<Response | undefined> {
  const { context, principal, subject: pattern } = call
  const { dryRun, scope } = readVariant(context.req.url, settingQuerySchema, ifVersion)
  if (dryRun) return preview(api, call, { set: [pattern, limit] }, ifVersion)
  if (scope === undefined) return undefined
  await assertRoomToAct(api, call)
  const { maxRules: atMost } = api.settings
  return context.json(api.shaper.limits.setLocal(pattern, limit, { by: principal.name, atMost }))
}

/** The same for a removal. @throws Problem 404, 412 or 422 */
export async function removeVariant(
  api: RouteContext,
  call: Call,
  ifVersion: number | undefined,
): Promise<Response | undefined> {
  const { context, subject: pattern } = call
  const { dryRun, scope, override } = readVariant(context.req.url, removalQuerySchema, ifVersion)
  if (dryRun) {
    return preview(api, call, override === 'only' ? { reset: pattern } : { unset: pattern }, ifVersion)
  }
  if (scope === undefined) return undefined
  if (override !== undefined) {
    throw invalid([{ detail: 'expected scope=local or override=only in the query, got: both' }])
  }
  if (api.shaper.limits.unsetLocal(pattern)) return context.body(null, 204)
  throw new Problem('not-found', { detail: `this process has no local limit for ${quote(pattern)}` })
}

/** The preview covers only buckets that the token may see. */
async function preview(
  api: RouteContext,
  { context, principal }: Call,
  change: PreviewedChange,
  ifVersion: number | undefined,
) {
  const sees = (key: string) => isWithin(principal.prefixes, key)
  const found = await api.walks.run(principal, () => api.shaper.limits.preview(change, sees))
  if (ifVersion !== undefined && ifVersion !== found.version) {
    throw new RuleBookConflictError(ifVersion, found.version)
  }
  return context.json(found)
}

/** A local limit does not affect waiting jobs, so there is nothing to preview. */
function readVariant<Query extends typeof settingQuerySchema | typeof removalQuerySchema>(
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
    throw invalid([{ detail: 'expected no If-Match with scope=local: a local limit has no version' }])
  }
  return { ...query, dryRun }
}
