import { z } from '@hono/zod-openapi'
import { checkKey } from '../../core/key.ts'
import { type BucketQuery, bucketQuerySchema } from '../../line/bucket-query.ts'
import type { Principal } from '../access.ts'
import { invalid } from '../problem.ts'
import { readQuery } from '../query.ts'
import { assertWithin } from '../rights.ts'

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

/** The numeric fields of `BucketQuery`. */
const NUMBERS = ['minFill', 'maxFill', 'limit', 'minOldestWaitMs']

const isType = (name: string): name is EventType => (EVENT_TYPES as readonly string[]).includes(name)

const types = z.string().transform((text, context): ReadonlySet<EventType> => {
  const names = text.split(',')
  if (names.every(isType)) return new Set(names)
  const message = `some of ${EVENT_TYPES.join(', ')}, separated by commas`
  context.addIssue({ code: 'custom', message })
  return z.NEVER
})

/** The largest page in a stream: a whole page has to fit into a stream's backlog. */
const MOST_BUCKETS = 500

/** Query of `GET /v1/events`: the types of events, and for `buckets` which of them. */
export const streamQuerySchema = bucketQuerySchema.extend({
  limit: z.int().min(1).max(MOST_BUCKETS).default(100),
  types: types.prefault('verdict,departure,outcome,snapshot').openapi({
    type: 'string',
    description: `Separated by commas: ${EVENT_TYPES.join(', ')}. Default: the first four.`,
  }),
  key: z.string().optional().openapi({
    description: 'The bucket of the event `bucket`; limits verdict, departure and outcome to it as well.',
  }),
})

/** What a stream asks for, and which keys it may see. */
export interface Subscription {
  readonly prefixes: readonly string[]
  readonly types: ReadonlySet<EventType>
  readonly key: string | undefined
  readonly buckets: BucketQuery
}

/** @throws Problem 422 or 403, InvalidOptionsError, InvalidKeyError */
export function readSubscription(url: string, principal: Principal): Subscription {
  const { types, key, ...buckets } = readQuery(url, streamQuerySchema, NUMBERS)
  if (key !== undefined) {
    checkKey(key)
    assertWithin(principal, key)
  } else if (types.has('bucket')) {
    throw invalid([{ detail: 'expected key in the query to say which bucket, got: nothing' }])
  }
  return { prefixes: principal.prefixes, types, key, buckets }
}
