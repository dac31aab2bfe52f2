import { describe, expect, test, vi } from 'vitest'
import { parseLayer } from '../../src/core/layered-book.ts'
import { parseRule } from '../../src/core/rule-book.ts'
import type { RuleChange } from '../../src/core/rule-layers.ts'
import { MOST_READS, PAGE, readBook, writeDraft } from '../../src/redis/rules/book-pages.ts'
import { RedisRules } from '../../src/redis/rules/redis-rules.ts'
import { shardKey } from '../../src/redis/scripts/keys.ts'
import { Store } from '../../src/redis/scripts/store.ts'
import { at } from '../support/backend-driver.ts'
import { connect } from '../support/redis-driver.ts'
import { redisAddress, uniquePrefix } from '../support/redis-server.ts'
import { RedisStage } from './redis-stage.ts'

/** About four pages. */
const RULES = 3_000
const LONG = Object.fromEntries(Array.from({ length: RULES }, (_, n) => [`käse/laden-${n}`, `${n + 1}, 5/s`]))

const set = (pattern: string, limit = '5, 1/s'): RuleChange => ({
  kind: 'set',
  rule: parseRule(pattern, limit),
})
const bookKey = ({ tag }: RedisStage) => shardKey(tag, 'book')

/** Bytes of the largest command and of the largest reply that pass over the connection. */
async function measured() {
  const connection = connect(redisAddress())
  await connection.ready()
  const largest = { command: 0, reply: 0, all: 0 }
  const { commands } = connection
  const sizeOf = (value: unknown): number =>
    Array.isArray(value) ? value.reduce((sum, one) => sum + sizeOf(one), 0) : Buffer.byteLength(String(value))
  for (const name of ['call', 'get', 'hget'] as const) {
    const send = commands[name].bind(commands) as (...words: unknown[]) => Promise<unknown>
    vi.spyOn(commands, name).mockImplementation(async (...words: unknown[]) => {
      // What is written with the text of its script is written once in the life of a server.
      largest.command = Math.max(largest.command, words[0] === 'eval' ? 0 : sizeOf(words))
      const reply = await send(...words)
      largest.reply = Math.max(largest.reply, sizeOf(reply))
      largest.all += sizeOf(reply)
      return reply as never
    })
  }
  return { connection, largest }
}

/** A store that does something before some of its calls. */
class WatchedStore extends Store {
  readonly verbs: string[] = []
  beforePage: (from: number) => Promise<unknown> = async () => undefined
  beforeWrite: (verb: string) => Promise<unknown> = async () => undefined

  override async read<Reply>(...call: Parameters<typeof Store.prototype.read<Reply>>): Promise<Reply> {
    if (call[0].verb === 'page') await this.beforePage(Number(call[2][0]))
    return super.read(...call)
  }

  override async write<Reply>(...call: Parameters<typeof Store.prototype.write<Reply>>): Promise<Reply> {
    this.verbs.push(call[0].verb)
    await this.beforeWrite(call[0].verb)
    return super.write(...call)
  }
}

async function watched(of: RedisStage) {
  const connection = connect(redisAddress())
  await connection.ready()
  const store = new WatchedStore(connection, of.backend.store.tags, 'test')
  const memory = { assertRoom: () => undefined }
  return { store, rules: new RedisRules(store, parseLayer({}), memory, async () => undefined) }
}

test('a long rule book travels in pages, and arrives whole', async () => {
  const prefix = uniquePrefix()
  const writer = await measured()
  const one = await RedisStage.open(LONG, { prefix, connection: writer.connection })
  await one.backend.rules.change(set('a'), at(0))
  expect(await one.redis.strlen(bookKey(one))).toBeGreaterThan(3 * PAGE)
  const reader = await measured()
  const other = await RedisStage.open({}, { prefix, connection: reader.connection })
  expect(other.backend.rules.book.list()).toEqual(one.backend.rules.book.list())
  for (const { largest } of [writer, reader]) {
    expect(largest.command).toBeLessThan(PAGE + 2_000)
    expect(largest.reply).toBeLessThan(PAGE + 2_000)
  }
  expect(reader.largest.reply).toBeGreaterThan(PAGE / 2)
  // A book ends with its line, and not as a draft does.
  expect(await one.redis.pttl(bookKey(one))).toBe(-1)
  expect((await one.redis.keys(`{${prefix}:*:draft:*`)).length).toBe(0)
})

test('a process that has the newest book changes it without reading it', async () => {
  const { connection, largest } = await measured()
  const stage = await RedisStage.open(LONG, { connection })
  largest.all = 0
  await stage.backend.rules.change(set('a'), at(0))
  await stage.backend.follow()
  expect(largest.all).toBeLessThan(2_000)
  expect(stage.backend.rules.version).toBe(2)
})

test('pages may end within a character', async () => {
  const stage = await RedisStage.open('9, 1/s')
  const { store } = stage.backend
  for (const text of ['€'.repeat(PAGE), '🧀'.repeat(PAGE), 'é'.repeat(PAGE), `x${'é'.repeat(PAGE)}`]) {
    const draft = await writeDraft(store, 0, Buffer.from(text))
    await stage.redis.rename(`${stage.tag}:draft:${draft}`, bookKey(stage))
    expect((await readBook(store)) === text).toBe(true)
  }
})

describe('a book that changes while it is read', () => {
  test('is read again from its beginning, as one book', async () => {
    const one = await RedisStage.open(LONG)
    const { store, rules } = await watched(one)
    const asked: number[] = []
    store.beforePage = async (from) => {
      asked.push(from)
      if (asked.length === 2) await one.backend.rules.change(set('käse/laden-0', '7, 5/s'), at(0))
    }
    await rules.open()
    expect(asked.filter((from) => from === 0)).toHaveLength(2)
    expect(rules.book.list()).toEqual(one.backend.rules.book.list())
    expect(rules.version).toBe(2)
  })

  test('each time is read in one piece in the end', async () => {
    const one = await RedisStage.open(LONG)
    const { store } = await watched(one)
    let reads = 0
    store.beforePage = async (from) => {
      if (from === 0) reads++
      else if (from === PAGE) await one.backend.rules.change(set('a', `${reads}, 5/s`), at(0))
    }
    const text = await readBook(store)
    expect(reads).toBe(MOST_READS)
    expect(text === (await one.redis.get(bookKey(one)))).toBe(true)
  })
})

describe('a long book that is being written', () => {
  const load = { kind: 'load', ...parseLayer(LONG, 'file') } as const
  const removeDrafts = async ({ redis, tag }: RedisStage) => {
    for (const name of await redis.keys(`${tag}:draft:*`)) await redis.del(name)
  }

  test('is written again when a part of it got lost', async () => {
    const stage = await RedisStage.open('9, 1/s')
    for (const before of ['draft', 'book']) {
      const { store, rules } = await watched(stage)
      await rules.open()
      let losses = 0
      store.beforeWrite = async (verb) => {
        if (verb !== before || (before === 'draft' && store.verbs.length < 3) || losses++ > 0) return
        await removeDrafts(stage)
      }
      store.verbs.length = 0
      await rules.change({ ...load, origin: before === 'draft' ? 'file' : 'code' }, at(0))
      expect(losses).toBeGreaterThan(0)
      expect(store.verbs.filter((verb) => verb === 'draft').length).toBeGreaterThan(4)
      await stage.backend.follow()
      expect(stage.backend.rules.book.list()).toEqual(rules.book.list())
    }
    expect(stage.backend.rules.book.list().length).toBe(RULES)
  })

  test('leaves the one before in force when its parts get lost each time', async () => {
    const stage = await RedisStage.open('9, 1/s')
    const { store, rules } = await watched(stage)
    await rules.open()
    store.beforeWrite = async (verb) => {
      if (verb === 'book') await removeDrafts(stage)
    }
    await expect(rules.change(load, at(0))).rejects.toMatchObject({ code: 'backend-unavailable' })
    const other = await RedisStage.open({}, { prefix: stage.prefix })
    expect(other.backend.rules.book.list().map(({ pattern }) => pattern)).toEqual(['*'])
  })

  test('is written once though each of its replies was lost', async () => {
    const stage = await RedisStage.open('9, 1/s')
    const { store, rules } = await watched(stage)
    await rules.open()
    const write = store.write.bind(store)
    const spied = vi.spyOn(store, 'write').mockImplementation(async (...call) => {
      await write(...call)
      return write(...call)
    })
    const changed = await rules.change(load, at(0))
    expect([changed.isChanged, changed.after.version]).toEqual([true, 2])
    // The second reply is that of the first call.
    expect(spied.mock.results).toHaveLength(store.verbs.length / 2)
    for (const { value } of spied.mock.results) expect((await value).kind).toBe('ok')
    await stage.backend.follow()
    expect(stage.backend.rules.book.list()).toEqual(rules.book.list())
  })

  test('leaves no draft when another process was first, and a new one is computed', async () => {
    const stage = await RedisStage.open('9, 1/s')
    const { store, rules } = await watched(stage)
    await rules.open()
    let races = 0
    store.beforeWrite = async (verb) => {
      if (verb === 'book' && races++ === 0) await stage.backend.rules.change(set('b'), at(0))
    }
    await rules.change(load, at(0))
    expect(rules.version).toBe(3)
    expect(rules.book.get('b')).toBeDefined()
    expect(await stage.redis.keys(`${stage.tag}:draft:*`)).toEqual([])
  })

  test('ends by itself when its process dies', async () => {
    const stage = await RedisStage.open('9, 1/s')
    const draft = await writeDraft(stage.backend.store, 0, Buffer.alloc(2 * PAGE, 'x'))
    const left = await stage.redis.pttl(`${stage.tag}:draft:${draft}`)
    expect(left).toBeGreaterThan(0)
    expect(left).toBeLessThanOrEqual(60_000)
  })
})
