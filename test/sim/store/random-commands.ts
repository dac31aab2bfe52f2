import fc from 'fast-check'
import type { Words } from './real-and-ours.ts'

/** Random commands with arguments that are often odd, on few keys, so that types and states clash. */

const key = fc.constantFrom('a', 'b', 'c', 'd')
/** Ranges by bytes have a meaning only where all scores are the same. */
const lexKey = fc.constant('same')
const text = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom('x', 'y', 'z', '1', '2', '10', '-3', '3.5', '') },
  { weight: 1, arbitrary: fc.string({ unit: 'binary-ascii', maxLength: 6 }) },
  { weight: 1, arbitrary: fc.constantFrom('\0', '\xff\xfe', 'a b', '[', 'inf', 'nan', '0x10', ' 1', '1 ') },
)
const integer = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: -4, max: 6 }).map(String) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '9223372036854775807',
      '-9223372036854775808',
      '9223372036854775808',
      '+1',
      '01',
      '-0',
      '',
    ),
  },
  { weight: 1, arbitrary: text },
)
const score = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: -3, max: 6 }).map(String) },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      '1.5',
      '-2.25',
      '1e3',
      '0.1',
      '1e300',
      '3.0000000000000004',
      'inf',
      '-inf',
      '+inf',
      '1e-7',
    ),
  },
  { weight: 1, arbitrary: text },
)
const border = fc.oneof(
  score,
  score.map((value) => `(${value}`),
  fc.constantFrom('-inf', '+inf', '(', ''),
)
const lex = fc.oneof(fc.constantFrom('-', '+', '[x', '(x', '[', '(', 'x', '[y', '(z'), text)
const streamId = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.tuple(fc.nat(6), fc.nat(3)).map(([ms, seq]) => `${ms}-${seq}`),
  },
  { weight: 2, arbitrary: fc.nat(7).map(String) },
  { weight: 1, arbitrary: fc.nat(7).map((ms) => `${ms}-*`) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('x', '1-', '-1', '1-2-3', '0-0', '18446744073709551615-18446744073709551615'),
  },
)
const streamEnd = fc.oneof(
  streamId,
  streamId.map((id) => `(${id}`),
  fc.constantFrom('-', '+'),
)
const word = (...words: string[]) => fc.constantFrom(...words, ...words.map((one) => one.toLowerCase()))
const maybe = (...parts: fc.Arbitrary<string>[]) =>
  fc.option(fc.tuple(...parts), { nil: [] as string[], freq: 2 }) as fc.Arbitrary<string[]>
const many = (part: fc.Arbitrary<string>, least = 1, most = 4) =>
  fc.array(part, { minLength: least, maxLength: most })
const pairs = (one: fc.Arbitrary<string>, other: fc.Arbitrary<string>) =>
  fc.array(fc.tuple(one, other), { minLength: 1, maxLength: 4 }).map((list) => list.flat())
/** None of them comes while a test runs. */
const fromNow = fc.constantFrom('100000', '90000', '0', '-5', 'x')
const farEnd = fc.constantFrom('9999999999', '9999999999999', '100000', '1', '0', '-5', 'x')

type Part = fc.Arbitrary<string> | fc.Arbitrary<string[]>

function command(name: string, ...parts: Part[]): fc.Arbitrary<Words> {
  return fc.tuple(...(parts as fc.Arbitrary<string | string[]>[])).map((words) => [name, ...words.flat()])
}

const limit = maybe(word('LIMIT'), integer, integer)
const withScores = maybe(word('WITHSCORES'))
const end = word('LEFT', 'RIGHT')
const scanOptions = fc.oneof(
  maybe(word('MATCH'), fc.constantFrom('*', 'x*', '?', '[xy]', '[^x]', '\\x', '[x-z]', '1*')),
  // All of it in one page: a smaller one ends where a real Redis keeps its table apart.
  maybe(word('COUNT'), fc.constantFrom('1000', '0', '-1', 'x', '')),
)

const STRINGS = [
  command('GET', key),
  command('SET', key, text),
  command('SET', key, text, fc.oneof(maybe(word('NX', 'XX')), maybe(word('GET')), maybe(word('KEEPTTL')))),
  command('SET', key, text, maybe(word('PXAT', 'EXAT'), farEnd), maybe(word('GET'))),
  command('SET', key, text, maybe(word('PX', 'EX'), fromNow), maybe(word('GET'))),
  command('SETNX', key, text),
  command('SETEX', key, fromNow, text),
  command('GETSET', key, text),
  command('GETDEL', key),
  command('MGET', many(key)),
  command('MSET', pairs(key, text)),
  command('MSETNX', pairs(key, text)),
  command('INCR', key),
  command('DECR', key),
  command('INCRBY', key, integer),
  command('DECRBY', key, integer),
  command('APPEND', key, text),
  command('STRLEN', key),
  command('GETRANGE', key, integer, integer),
]

const KEYS = [
  command('DEL', many(key)),
  command('UNLINK', many(key)),
  command('EXISTS', many(key)),
  command('TYPE', key),
  command('PEXPIREAT', key, farEnd, maybe(word('NX', 'XX', 'GT', 'LT', 'ZZ'))),
  command('EXPIREAT', key, farEnd, maybe(word('NX', 'XX', 'GT', 'LT'), word('NX', 'XX', 'GT', 'LT'))),
  command('PEXPIRETIME', key),
  command('EXPIRETIME', key),
  command('PERSIST', key),
  command('RENAME', key, key),
  command('RENAMENX', key, key),
  command('KEYS', fc.constantFrom('*', 'a', '[a-c]', '?', '[^a]', 'x')),
  command('SCAN', fc.constantFrom('0', 'x'), maybe(word('MATCH'), fc.constantFrom('*', 'a'))),
  command('COPY', key, key, maybe(word('REPLACE'))),
]

const HASHES = [
  command('HSET', key, pairs(text, text)),
  command('HMSET', key, pairs(text, text)),
  command('HSETNX', key, text, text),
  command('HGET', key, text),
  command('HMGET', key, many(text)),
  command('HGETALL', key),
  command('HDEL', key, many(text)),
  command('HLEN', key),
  command('HEXISTS', key, text),
  command('HKEYS', key),
  // All of them: a real Redis draws others.
  command('HRANDFIELD', key, fc.constantFrom('0', '1000', 'x'), fc.constant('WITHVALUES')),
  command('HVALS', key),
  command('HINCRBY', key, text, integer),
  command('HSTRLEN', key, text),
  command('HSCAN', key, fc.constant('0'), scanOptions),
]

const SETS = [
  command('SADD', key, many(text)),
  command('SREM', key, many(text)),
  command('SMOVE', key, key, text),
  command('SCARD', key),
  command('SISMEMBER', key, text),
  command('SMISMEMBER', key, many(text)),
  command('SMEMBERS', key),
  command('SSCAN', key, fc.constant('0'), scanOptions),
]

const LISTS = [
  command('LPUSH', key, many(text)),
  command('RPUSH', key, many(text)),
  command('LPUSHX', key, many(text)),
  command('RPUSHX', key, many(text)),
  command('LPOP', key, maybe(integer)),
  command('RPOP', key, maybe(integer)),
  command('LLEN', key),
  command('LRANGE', key, integer, integer),
  command('LINDEX', key, integer),
  command('LSET', key, integer, text),
  command('LREM', key, integer, text),
  command('LTRIM', key, integer, integer),
  command(
    'LPOS',
    key,
    text,
    maybe(word('RANK'), integer),
    maybe(word('COUNT'), integer),
    maybe(word('MAXLEN'), integer),
  ),
  command('LINSERT', key, word('BEFORE', 'AFTER', 'OVER'), text, text),
  command('RPOPLPUSH', key, key),
  command('LMOVE', key, key, end, end),
  command('LMPOP', integer, many(key, 1, 2), end, maybe(word('COUNT'), integer)),
]

const SORTED_SETS = [
  command('ZADD', key, pairs(score, text)),
  command('ZADD', key, many(word('NX', 'XX', 'GT', 'LT', 'CH', 'INCR'), 0, 2), pairs(score, text)),
  command('ZINCRBY', key, score, text),
  command('ZREM', key, many(text)),
  command('ZSCORE', key, text),
  command('ZMSCORE', key, many(text)),
  command('ZCARD', key),
  command('ZRANK', key, text),
  command('ZREVRANK', key, text),
  command('ZPOPMIN', key, maybe(integer)),
  command('ZPOPMAX', key, maybe(integer)),
  command('ZMPOP', integer, many(key, 1, 2), word('MIN', 'MAX'), maybe(word('COUNT'), integer)),
  command('ZRANGE', key, integer, integer, withScores),
  command('ZRANGE', key, border, border, word('BYSCORE'), maybe(word('REV')), limit, withScores),
  command('ZADD', lexKey, fc.constant('0'), text),
  command('ZRANGE', lexKey, lex, lex, word('BYLEX'), maybe(word('REV')), limit),
  command('ZRANGE', key, integer, integer, maybe(word('REV')), limit, withScores),
  command('ZREVRANGE', key, integer, integer, withScores),
  command('ZRANGEBYSCORE', key, border, border, withScores, limit),
  command('ZREVRANGEBYSCORE', key, border, border, withScores, limit),
  command('ZRANGEBYLEX', lexKey, lex, lex, limit),
  command('ZREVRANGEBYLEX', lexKey, lex, lex, limit),
  command('ZCOUNT', key, border, border),
  command('ZLEXCOUNT', lexKey, lex, lex),
  command('ZREMRANGEBYRANK', key, integer, integer),
  command('ZREMRANGEBYSCORE', key, border, border),
  command('ZREMRANGEBYLEX', lexKey, lex, lex),
  command('ZSCAN', key, fc.constant('0'), scanOptions),
]

const STREAMS = [
  command('XADD', key, streamId, pairs(text, text)),
  command(
    'XADD',
    key,
    maybe(word('NOMKSTREAM')),
    maybe(word('MAXLEN'), integer),
    streamId,
    pairs(text, text),
  ),
  command(
    'XADD',
    key,
    maybe(word('MINID'), fc.constantFrom('=', '~'), streamId),
    streamId,
    pairs(text, text),
  ),
  command('XLEN', key),
  command('XRANGE', key, streamEnd, streamEnd, maybe(word('COUNT'), integer)),
  command('XREVRANGE', key, streamEnd, streamEnd, maybe(word('COUNT'), integer)),
  command('XREAD', maybe(word('COUNT'), integer), word('STREAMS'), key, streamId),
  command('XREAD', word('STREAMS'), key, key, streamId, fc.oneof(streamId, fc.constant('$'))),
  command('XTRIM', key, word('MAXLEN', 'MINID'), integer, maybe(word('LIMIT'), integer)),
  command('XDEL', key, many(streamId)),
]

const OTHERS = [
  command('PING', maybe(text)),
  command('ECHO', text),
  command('MULTI'),
  command('EXEC'),
  command('DISCARD'),
  command('WATCH', many(key)),
  command('UNWATCH'),
  command('NOSUCH', many(text, 0, 3)),
  command('SELECT', fc.constantFrom('0', '1', '99', 'x', '-1')),
  command('SCRIPT', fc.constantFrom('EXISTS', 'LOAD', 'BLA'), fc.constantFrom('return 1', 'x', '(', 'abc')),
  command(
    'EVAL',
    fc.constantFrom('return KEYS[1]', 'return ARGV', 'return redis.call("GET", KEYS[1])'),
    integer,
    many(key),
  ),
  command('CLIENT', fc.constantFrom('GETNAME', 'SETNAME', 'BLA'), maybe(text)),
  command('CONFIG', fc.constantFrom('GET', 'BLA'), fc.constantFrom('maxmemory', 'nope', 'appendfsync')),
  command('HELLO', fc.constantFrom('2', '3', '4', 'x')),
]

const regular = fc.oneof(
  ...STRINGS,
  ...KEYS,
  ...HASHES,
  ...SETS,
  ...LISTS,
  ...SORTED_SETS,
  ...SORTED_SETS,
  ...STREAMS,
  ...OTHERS,
)

/** One word too few or too many, now and then. */
export const randomCommand: fc.Arbitrary<Words> = fc
  .tuple(regular, fc.constantFrom('', '', '', '', '', '', '', 'less', 'more'), text)
  .map(([words, how, extra]) => {
    if (how === 'more') return [...words, extra]
    return how === 'less' && words.length > 1 ? words.slice(0, -1) : words
  })
