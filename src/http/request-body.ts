import type { z } from 'zod'
import { type BodyOptions, readBody } from './body.ts'
import type { Call, House } from './route.ts'

/** The body of a request, judged by the schema. @throws Problem 400, 413, 415, 422 or 503 */
export function readRequest<Schema extends z.ZodType>(
  { settings, overload }: House,
  { context }: Pick<Call, 'context'>,
  schema: Schema,
  { most = settings.bodyLimitBytes, ...options }: Partial<BodyOptions> = {},
): Promise<z.output<Schema>> {
  return overload.whileReading(() => readBody(context.req.raw, schema, { most, ...options }))
}
