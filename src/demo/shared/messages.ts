import { z } from 'zod'
import type { HistoryEvent } from '../../conformance/history.ts'
import type { Account } from '../account.ts'

/** The first message to a demo process. */
const errandSchema = z.object({
  do: z.literal('prepare'),
  redis: z.string(),
  prefix: z.string(),
  accounts: z.array(z.custom<Account>((account) => typeof account === 'object' && account !== null)),
  cycles: z.number(),
  /** Index of this process among those of its role, from 0. */
  share: z.number(),
  of: z.number(),
  /** Port of the API. */
  port: z.number(),
  /** Deletes the keys in Redis if the parent ended before it could. */
  isSweeper: z.boolean(),
})

const orderSchema = z.discriminatedUnion('do', [
  errandSchema,
  /** Producers play their share of the bursts. */
  z.object({ do: z.literal('start') }),
  /** All are done: send the history. */
  z.object({ do: z.literal('stop') }),
])

/** Messages from demo processes. Times are milliseconds of the Redis clock, which they share. */
const reportSchema = z.discriminatedUnion('say', [
  z.object({ say: z.literal('ready') }),
  z.object({ say: z.literal('admitted'), key: z.string(), at: z.number() }),
  z.object({ say: z.literal('rejected'), key: z.string(), at: z.number(), retryAfterMs: z.number() }),
  z.object({ say: z.literal('came-back'), key: z.string() }),
  z.object({ say: z.literal('departed'), key: z.string(), at: z.number(), waitedMs: z.number() }),
  z.object({ say: z.literal('ended') }),
  z.object({ say: z.literal('error'), message: z.string() }),
  /** All jobs of this producer have their last verdict. */
  z.object({ say: z.literal('sent') }),
  z.object({ say: z.literal('history'), events: z.array(z.custom<HistoryEvent>()) }),
])

export type Errand = z.output<typeof errandSchema>
export type Order = z.output<typeof orderSchema>
export type Report = z.output<typeof reportSchema>

export function readOrder(message: unknown): Order {
  return orderSchema.parse(message)
}

export function readReport(message: unknown): Report {
  return reportSchema.parse(message)
}
