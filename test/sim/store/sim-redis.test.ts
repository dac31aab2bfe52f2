import { describe, expect, test } from 'vitest'
import { encode, RealAndOurs, type Words } from './real-and-ours.ts'
import { type RawReply, ReplyReader } from './reply-reader.ts'
import { SimRedis } from './sim-redis.ts'

const ADMITS = '#!lua flags=allow-oom\nreturn redis.call("SET", KEYS[1], "x")'
const GROWS = '#!lua\nreturn redis.call("SET", KEYS[1], "x")'
const READS = '#!lua flags=no-writes\nreturn redis.call("GET", KEYS[1])'

/** A store on a time that only tests move, and what waits for it. */
class Stage {
  now = 1_000_000_000
  #draws = 0
  readonly waiting: { at: number; run: () => void }[] = []
  readonly store = new SimRedis({
    nowUs: () => this.now,
    wake: (at, run) => {
      const entry = { at, run }
      this.waiting.push(entry)
      return () => void this.waiting.splice(this.waiting.indexOf(entry), 1)
    },
    random: () => (this.#draws++ % 97) / 97,
  })

  client() {
    const connection = this.store.connect()
    const reader = new ReplyReader()
    const replies: RawReply[] = []
    const state = { replies, isClosed: false, close: () => connection.close(), say }
    connection.onClose(() => {
      state.isClosed = true
    })
    connection.onBytes((bytes) => {
      reader.push(bytes)
      for (let reply = reader.next(); reply !== undefined; reply = reader.next()) replies.push(reply)
    })
    function say(...commands: Words[]): RawReply[] {
      for (const words of commands) connection.receive(encode(words))
      return replies.splice(0)
    }
    return state
  }

  pass(us: number): void {
    this.now += us
    for (const { run } of this.waiting.filter(({ at }) => at <= this.now)) run()
  }
}

test('a full memory refuses what a real Redis refuses', async () => {
  const both = await RealAndOurs.start()
  const { real, ours } = await both.answers([
    ['SET', 'there', 'x'],
    ['CONFIG', 'SET', 'maxmemory', '1'],
    ['SET', 'a', 'b'],
    ['GET', 'there'],
    ['DEL', 'none'],
    ['HSET', 'a', 'b', 'c'],
    ['EVAL', 'return redis.call("SET", "a", "b")', 0],
    ['EVAL', 'redis.call("DEL", "a") return redis.call("SET", "a", "b")', 0],
    ['EVAL', 'return redis.pcall("SET", "a", "b")', 0],
    ['EVAL', ADMITS, 1, 'a'],
    ['EVAL', GROWS, 1, 'a'],
    ['EVAL', READS, 1, 'a'],
    ['EVAL_RO', GROWS, 1, 'a'],
    ['MULTI'],
    ['SET', 'a', 'b'],
    ['EXEC'],
    ['CONFIG', 'SET', 'maxmemory', '0'],
    ['EVAL', GROWS, 1, 'a'],
  ])
  expect(ours).toEqual(real)
})

describe('a command that waits', () => {
  test('gets what comes, in the order of those who wait', () => {
    const stage = new Stage()
    const [one, two, other] = [stage.client(), stage.client(), stage.client()]
    expect(one.say(['BLPOP', 'list', '0'])).toEqual([])
    expect(two.say(['BLMPOP', '5', '1', 'list', 'LEFT', 'COUNT', '10'], ['PING'])).toEqual([])
    expect(other.say(['RPUSH', 'list', 'a', 'b', 'c'])).toEqual([':3'])
    expect(one.replies).toEqual([['*2', '$list', '$a']])
    expect(two.replies).toEqual([['*2', '$list', ['*2', '$b', '$c']], '+PONG'])
    expect(stage.waiting).toEqual([])
  })

  test('ends at its time, and only then runs what was sent after it', () => {
    const stage = new Stage()
    const client = stage.client()
    client.say(['BZPOPMIN', 'set', '0.5'], ['ECHO', 'after'])
    stage.pass(499_000)
    expect(client.replies).toEqual([])
    stage.pass(1_000)
    expect(client.replies).toEqual(['*-1', '$after'])
  })

  test('is served by a script, when that has ended', () => {
    const stage = new Stage()
    const [waits, runs] = [stage.client(), stage.client()]
    waits.say(['BZPOPMIN', 'set', '0'])
    runs.say(['EVAL', 'redis.call("ZADD", "set", 2, "b") redis.call("ZADD", "set", 1, "a")', '0'])
    expect(waits.replies).toEqual([['*3', '$set', '$a', '$1']])
  })

  test('takes nothing once its client has gone', () => {
    const stage = new Stage()
    const [gone, other] = [stage.client(), stage.client()]
    gone.say(['BLPOP', 'list', '1'])
    gone.close()
    expect(other.say(['RPUSH', 'list', 'a'], ['LLEN', 'list'])).toEqual([':1', ':1'])
    expect(stage.waiting).toEqual([])
  })
})

test('keys end at the time of the host', () => {
  const stage = new Stage()
  const client = stage.client()
  client.say(['SET', 'a', 'b', 'PX', '100'])
  stage.pass(99_000)
  expect(client.say(['PTTL', 'a'])).toEqual([':1'])
  stage.pass(1_000)
  expect(client.say(['GET', 'a'], ['TIME'])).toEqual(['$-1', ['*2', '$1000', '$100000']])
})

test('a restart keeps what it is given, forgets scripts, has another run, and closes connections', () => {
  const stage = new Stage()
  const client = stage.client()
  client.say(['SET', 'a', '1'], ['HSET', 'h', 'f', 'v'], ['SCRIPT', 'LOAD', 'return 1'])
  const snapshot = stage.store.snapshot()
  client.say(['SET', 'a', '2'], ['HSET', 'h', 'f', 'changed'])
  const { runId } = stage.store.server
  stage.store.restart('same')
  expect(client.isClosed).toBe(true)
  expect(stage.store.server.runId).not.toBe(runId)
  const later = stage.client()
  const sha = 'e0e1f9fabfc9d4800c877a703b823ac0578ff8db'
  expect(later.say(['GET', 'a'], ['SCRIPT', 'EXISTS', sha])).toEqual(['$2', ['*1', ':0']])
  stage.store.restart(snapshot)
  expect(stage.client().say(['GET', 'a'], ['HGET', 'h', 'f'])).toEqual(['$1', '$v'])
  stage.store.restart('empty')
  expect(stage.client().say(['DBSIZE'])).toEqual([':0'])
})

test('while it loads, it says so', () => {
  const stage = new Stage()
  const client = stage.client()
  stage.store.server.isLoading = true
  expect(client.say(['GET', 'a'])).toEqual(['-LOADING Redis is loading the dataset in memory'])
  stage.store.server.isLoading = false
  expect(client.say(['GET', 'a'])).toEqual(['$-1'])
})

test.each([
  "READONLY You can't write against a read only replica.",
  'NOREPLICAS Not enough good replicas to write.',
])('while it refuses writes, it says so: %s', (refusal) => {
  const stage = new Stage()
  const client = stage.client()
  client.say(['SET', 'a', '1'])
  stage.store.server.refusal = refusal
  expect(client.say(['SET', 'a', '2'], ['GET', 'a'])).toEqual([`-${refusal}`, '$1'])
  expect(client.say(['EVAL', ADMITS, '1', 'a'], ['EVAL', READS, '1', 'a'])).toEqual([`-${refusal}`, '$1'])
  const [old] = client.say(['EVAL', 'return redis.call("SET", KEYS[1], "x")', '1', 'a'])
  expect(old).toMatch(/^-(?:READONLY|NOREPLICAS) .* script: /)
  stage.store.server.refusal = undefined
  expect(client.say(['EVAL', ADMITS, '1', 'a'])).toEqual(['+OK'])
})

test('a client that does not speak the protocol gets an error and is closed', () => {
  const stage = new Stage()
  const connection = stage.store.connect()
  const heard: string[] = []
  connection.onBytes((bytes) => heard.push(bytes.toString('latin1')))
  connection.onClose(() => heard.push('closed'))
  connection.receive(Buffer.from('*1\r\n!3\r\n'))
  expect(heard).toEqual(["-ERR Protocol error: expected '$', got '!'\r\n", 'closed'])
})
