import { ok } from 'node:assert/strict'
import fc from 'fast-check'
import type { ChainableCommander, Redis } from 'ioredis'
import { shardKey } from '../../../src/redis/scripts/keys.ts'
import { machine } from '../machine.ts'
import { oddNumber, oddText } from '../odd-values.ts'
import { openScriptLab } from '../scripts/script-lab.ts'

const text = fc.oneof(oddNumber.map(String), oddText)
const bytes = fc.uint8Array({ maxLength: 60 })
const which = fc.nat(1_000)

/** What someone else may have done to one of our keys. */
export const spoil = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('type' as const),
      type: fc.constantFrom('string', 'list', 'hash', 'set', 'zset', 'stream'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete' as const) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('value' as const), which, value: text }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('bytes' as const), which, bytes }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('cut' as const), which, length: fc.nat(120) }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('overwrite' as const),
      which,
      at: fc.nat(250),
      bytes: fc.uint8Array({ minLength: 1, maxLength: 8 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('copy' as const), which, from: which }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('stranger' as const), name: text, score: oddNumber }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('score' as const), which, score: oddNumber }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('remove' as const), which }) },
)
export type Spoil = typeof spoil extends fc.Arbitrary<infer Value> ? Value : never

/** A key of the snapshot with all that it holds. */
export interface Entry {
  readonly name: string
  readonly type: string
  /** Fields, members or indices, with their values or scores. */
  readonly items: readonly (readonly [item: string, value: Buffer])[]
}

export async function entriesOf(redis: Redis, names: readonly string[]): Promise<Entry[]> {
  return Promise.all(
    names.map(async (name): Promise<Entry> => {
      const type = await redis.type(name)
      const flat =
        type === 'hash'
          ? Object.entries(await redis.hgetallBuffer(name))
          : type === 'zset'
            ? pairs(await redis.callBuffer('zrange', name, 0, -1, 'withscores'))
            : type === 'list'
              ? (await redis.lrangeBuffer(name, 0, -1)).map((value, index) => [`${index}`, value] as const)
              : [['', (await redis.getBuffer(name))!] as const]
      return { name, type, items: flat }
    }),
  )
}

function pairs(flat: unknown): (readonly [string, Buffer])[] {
  const values = flat as Buffer[]
  return Array.from({ length: values.length / 2 }, (_, index) => [
    values[index * 2]!.toString(),
    values[index * 2 + 1]!,
  ])
}

const scoreText = (score: number) =>
  score === Number.POSITIVE_INFINITY
    ? '+inf'
    : score === Number.NEGATIVE_INFINITY
      ? '-inf'
      : `${Number.isNaN(score) ? 0 : score}`

function put(pipeline: ChainableCommander, { name, type }: Entry, item: string, value: Buffer): void {
  if (type === 'hash') pipeline.hset(name, item, value)
  else if (type === 'list') pipeline.lset(name, Number(item), value)
  else if (type === 'string') pipeline.set(name, value)
  else pipeline.zadd(name, 0, value)
}

function retype(pipeline: ChainableCommander, name: string, type: string): void {
  pipeline.del(name)
  if (type === 'string') pipeline.set(name, 'foreign')
  else if (type === 'list') pipeline.rpush(name, 'foreign')
  else if (type === 'hash') pipeline.hset(name, 'foreign', 'value')
  else if (type === 'set') pipeline.sadd(name, 'foreign')
  else if (type === 'zset') pipeline.zadd(name, 1, 'foreign')
  else pipeline.xadd(name, '*', 'foreign', 'value')
}

export function apply(pipeline: ChainableCommander, entry: Entry, spoiled: Spoil): void {
  const { name, type, items } = entry
  if (spoiled.do === 'type') retype(pipeline, name, spoiled.type)
  else if (spoiled.do === 'delete') pipeline.del(name)
  else if (spoiled.do === 'stranger') {
    if (type === 'hash') pipeline.hset(name, spoiled.name, 'value')
    else if (type === 'zset') pipeline.zadd(name, scoreText(spoiled.score), spoiled.name)
    else if (type === 'list') pipeline.lpush(name, spoiled.name)
    else pipeline.set(name, spoiled.name)
  } else if (spoiled.do === 'score' || spoiled.do === 'remove') {
    const [item, value] = items[spoiled.which % items.length]!
    if (spoiled.do === 'score') {
      if (type === 'zset') pipeline.zadd(name, scoreText(spoiled.score), item)
    } else if (type === 'hash') pipeline.hdel(name, item)
    else if (type === 'zset') pipeline.zrem(name, item)
    else if (type === 'list') pipeline.lrem(name, 1, value)
    else pipeline.del(name)
  } else {
    const [item, value] = items[spoiled.which % items.length]!
    put(pipeline, entry, item, changed(value, spoiled, items))
  }
}

type Change = Extract<Spoil, { do: 'value' | 'bytes' | 'cut' | 'copy' | 'overwrite' }>

function changed(value: Buffer, change: Change, items: Entry['items']): Buffer {
  switch (change.do) {
    case 'value':
      return Buffer.from(change.value)
    case 'bytes':
      return Buffer.from(change.bytes)
    case 'cut':
      return value.subarray(0, change.length % (value.length + 1))
    case 'copy':
      return items[change.from % items.length]![1]
    case 'overwrite': {
      const next = Buffer.from(value)
      Buffer.from(change.bytes).copy(next, change.at % (next.length + 1))
      return next
    }
  }
}

/** Most scripts read these. */
const CORE = [
  'meta',
  'buckets',
  'jobs',
  'states',
  'due',
  'leases',
  'line:1',
  'handed:1',
  'retry:1',
  // Of the buckets with quotas and places.
  'quotas',
  'quotas',
  'zones',
  'line:2',
  'handed:2',
  'retry:2',
  'line:3',
  'line:4',
]

export interface Input {
  readonly call: number
  readonly spoils: readonly { readonly key: number | string; readonly spoil: Spoil }[]
}

const key = fc.oneof({ weight: 2, arbitrary: fc.constantFrom(...CORE) }, { weight: 1, arbitrary: which })

export const inputs: fc.Arbitrary<Input> = fc.record({
  call: fc.nat(10_000),
  spoils: fc.array(fc.record({ key, spoil }), { minLength: 1, maxLength: 5 }),
})

export function spoilAll(pipeline: ChainableCommander, entries: readonly Entry[], { spoils }: Input): void {
  const gone = new Set<string>()
  for (const { key, spoil } of spoils) {
    const named =
      typeof key === 'number'
        ? entries[key % entries.length]!
        : entries.find(({ name }) => name.endsWith(`}:${key}`))!
    // What has become another type, or nothing, takes no more changes.
    if (gone.has(named.name)) continue
    if (spoil.do === 'type' || spoil.do === 'delete') gone.add(named.name)
    apply(pipeline, named, spoil)
  }
}

/** The errors that become errors of this package, and the one that names a zone, which a process then writes. */
export const TYPED = /^(?:VR_FOREIGN|VR_PARTIAL|VR_CALENDAR|WRONGTYPE)/

/**
 * Values that this package did not write, under our names: each call is answered, or refused by name with nothing written. One note may
 * be: that times are too far ahead, so that claims look at all buckets. It is true whatever becomes of the call.
 */
export const foreignValues = machine({
  name: 'foreign values',
  inputs,
  few: 500,
  share: 12,
  open: async () => {
    const lab = await openScriptLab()
    await lab.snapshot.restore()
    const entries = await entriesOf(lab.redis, lab.snapshot.names)
    const give = async (input: Input) => {
      const sample = lab.calls[input.call % lab.calls.length]!
      const spoil = (pipeline: ChainableCommander) => spoilAll(pipeline, entries, input)
      const { error, before, after } = await lab.run(sample, spoil)
      if (error === undefined) return 1
      const what = `${sample.verb}(${JSON.stringify(sample.values)}) on a spoiled shard`
      if (before !== after) {
        const noted = await lab.run(sample, (pipeline) => {
          spoil(pipeline)
          pipeline.hset(shardKey(lab.shard.stage.tag, 'meta'), 'rewind', '0')
        })
        ok(noted.before === noted.after, `${what} was refused with ${error}, and has written`)
      }
      ok(TYPED.test(error), `${what} was refused with ${error}`)
      return 1
    }
    return { give, close: () => lab.close() }
  },
})
