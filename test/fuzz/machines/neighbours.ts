import { ok } from 'node:assert/strict'
import fc from 'fast-check'
import { machine } from '../machine.ts'
import { openScriptLab } from '../scripts/script-lab.ts'
import { apply, entriesOf, type Spoil, spoil } from './foreign.ts'

/**
 * The entries that belong to the bucket `a` alone, or to `later`, which has quotas: their lists, and their fields in the hashes that
 * all share.
 */
const LISTS = ['line:1', 'handed:1', 'retry:1', 'line:4']
const FIELDS: readonly (readonly [hash: string, field: string])[] = [
  ['buckets', 'a'],
  ['jobs', 'waits'],
  ['jobs', 'dear'],
  ['jobs', 'retry'],
  ['jobs', 'running'],
  ['states', 'retry'],
  ['states', 'running'],
  ['buckets', 'later'],
  ['quotas', 'later'],
  ['jobs', 'later1'],
  ['jobs', 'later2'],
]

interface Input {
  readonly lists: readonly { readonly list: string; readonly spoil: Spoil }[]
  readonly fields: readonly { readonly at: number; readonly bytes: Uint8Array; readonly cut: number }[]
}

const inputs: fc.Arbitrary<Input> = fc.record({
  lists: fc.uniqueArray(fc.record({ list: fc.constantFrom(...LISTS), spoil }), {
    maxLength: 3,
    selector: ({ list }) => list,
  }),
  fields: fc.array(
    fc.record({ at: fc.nat(FIELDS.length - 1), bytes: fc.uint8Array({ maxLength: 12 }), cut: fc.nat(250) }),
    { maxLength: 3 },
  ),
})

/** Whatever stands under the names of one bucket: two claims hand over the job of another that is due. */
export const neighbours = machine({
  name: 'neighbours of a spoiled bucket',
  inputs,
  few: 300,
  share: 4,
  open: async () => {
    const lab = await openScriptLab()
    await lab.snapshot.restore()
    const entries = await entriesOf(lab.redis, lab.snapshot.names)
    const entry = (name: string) => entries.find((one) => one.name === `${lab.shard.stage.tag}:${name}`)!
    const claim = lab.calls.find(({ verb }) => verb === 'claim')!
    const give = async ({ lists, fields }: Input) => {
      const pipeline = lab.snapshot.queue(lab.redis.pipeline())
      for (const { list, spoil } of lists) apply(pipeline, entry(list), spoil)
      for (const { at, bytes, cut } of fields) {
        const [hash, field] = FIELDS[at]!
        const value = entry(hash).items.find(([item]) => item === field)?.[1] ?? Buffer.alloc(0)
        const changed = Buffer.concat([value.subarray(0, cut), bytes, value.subarray(cut + bytes.length)])
        pipeline.hset(entry(hash).name, field, changed)
      }
      for (let n = 0; n < 2; n++)
        pipeline.evalsha(claim.sha, claim.keys.length, ...claim.keys, ...claim.values)
      const replies = (await pipeline.exec())!
        .slice(-2)
        .map(([error, reply]) => error?.message ?? JSON.stringify(reply))
      ok(
        replies.some((reply) => reply.includes('"good1"')),
        `not handed over: ${replies.join(' and ')}`,
      )
      return 1
    }
    return { give, close: () => lab.close() }
  },
})
