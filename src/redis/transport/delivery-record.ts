import { z } from 'zod'
import { describe, quote } from '../../core/describe.ts'
import { ForeignValueError } from '../../core/errors.ts'
import type { HandedJob } from '../verbs/handed-job.ts'
import type { Delivery } from './transport.ts'

const VERSION = 1

const Record = z.strictObject({
  v: z.literal(VERSION),
  jobs: z
    .array(z.strictObject({ id: z.string().min(1), epoch: z.int().positive(), key: z.string().min(1) }))
    .min(1),
})
const Versioned = z.looseObject({ v: z.number() })

type DeliveryRecord = z.infer<typeof Record>

/** What the transport keeps of a bundle of deliveries; the jobs' own records have the rest. */
export function recordOf(deliveries: readonly Delivery[]): DeliveryRecord {
  return { v: VERSION, jobs: deliveries.map(({ id, epoch, key }) => ({ id, epoch, key })) }
}

/** Reads what `recordOf` made. @throws ForeignValueError when it is something else, or of an unknown version */
export function readRecord(value: unknown, shard: number, name: string): Delivery[] {
  const record = Record.safeParse(value)
  if (record.success) return record.data.jobs.map((job) => ({ ...job, shard }))
  const versioned = Versioned.safeParse(value)
  throw new ForeignValueError(
    versioned.success && versioned.data.v !== VERSION
      ? `the delivery ${quote(name)} has version ${versioned.data.v}, this process knows ${VERSION}: it was set aside`
      : `the delivery ${quote(name)} is not ours and was set aside: expected { v, jobs }, got: ${describe(value)}`,
  )
}

/**
 * The id of a delivery in BullMQ, which forbids colons and bare numbers. Halves of surrogate pairs are escaped, too: all would
 * become the same character on the way.
 */
export function deliveryId({ id, epoch }: HandedJob): string {
  return `${id.replace(FORBIDDEN, escaped)}_e${epoch}`
}

const FORBIDDEN = /[%:\ud800-\udfff]/g

function escaped(character: string): string {
  return `%${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
