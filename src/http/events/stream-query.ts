import { z } from '@hono/zod-openapi'
import { checkKey } from '../../core/key.ts'
import { type BucketQuery, bucketQuerySchema } from '../../line/bucket-query.ts'
import { assertWithin, type Principal } from '../access.ts'
import { invalid } from '../problem.ts'
import { readQuery } from '../query.ts'

export const EVENT_TYPES = [
  'verdict',
  'departure',
  'outcome',
  'snapshot',
  'buckets',
  'bucket',
  'rules',
  'flow',
] as const
export type EventType = (typeof EVENT_TYPES)[number]

/** Of `BucketQuery` and nothing else. */
const NUMBERS = ['minFill', 'maxFill', 'limit', 'minOldestWaitMs']

const isType = (name: string): name is EventType => (EVENT_TYPES as readonly string[]).includes(name)

const types = z.string().transform((text, context): ReadonlySet<EventType> => {
  const names = text.split(',')
  if (names.every(isType)) return new Set(names)
  const message = `some of ${EVENT_TYPES.join(', ')}, separated by commas`
  context.addIssue({ code: 'custom', message })
  return z.NEVER
})

/** Of a page in a stream: a whole one has to fit into what a client may be behind. */
const MOST_BUCKETS = 500

/** Query of `GET /v1/events`: what is told, and for `buckets` which of them. */
export const streamQuerySchema = bucketQuerySchema.extend({
  limit: z.int().min(1).max(MOST_BUCKETS).default(100),
  types: types.prefault('verdict,departure,outcome,snapshot').openapi({
    type: 'string',
    description: `Separated by commas: ${EVENT_TYPES.join(', ')}. Default: the first four.`,
  }),
  key: z.string().optional().openapi({
    description: 'Only this bucket, of verdict, departure and outcome; and the one that `bucket` shows.',
  }),
})

/** What one who listens wants to hear, and may. */
export interface Asked {
  readonly prefixes: readonly string[]
  readonly types: ReadonlySet<EventType>
  readonly key: string | undefined
  readonly buckets: BucketQuery
}

/** @throws Problem 422 or 403, InvalidOptionsError, InvalidKeyError */
export function readStreamQuery(url: string, principal: Principal): Asked {
  const { types, key, ...buckets } = readQuery(url, streamQuerySchema, NUMBERS)
  if (key !== undefined) {
    checkKey(key)
    assertWithin(principal, key)
  } else if (types.has('bucket')) {
    throw invalid([{ detail: 'expected key in the query to say which bucket, got: nothing' }])
  }
  return { prefixes: principal.prefixes, types, key, buckets }
}
