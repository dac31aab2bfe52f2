import { describe, expect, test } from 'vitest'
import {
  DataTooLargeError,
  FreezeError,
  InvalidDataError,
  InvalidKeyError,
  InvalidOptionsError,
  isVelvetRopeError,
  Shaper,
} from '../../../src/index.ts'
import { Stage } from '../../support/stage.ts'

async function busy(): Promise<Stage> {
  const stage = new Stage('9, 2/s')
  await stage.fill('k', 3)
  return stage
}

describe('a key', () => {
  const bad: [string, unknown, RegExp][] = [
    ['empty', '', /1 to 256 bytes/],
    ['of 257 bytes', 'k'.repeat(257), /257/],
    ['of 257 bytes in 129 characters', `k${'é'.repeat(128)}`, /257/],
    ['with a control character', 'a\nb', /control/],
    ['with a lone surrogate', 'a\ud800b', /Unicode/],
    ['__proto__', '__proto__', /__proto__/],
    ['with a segment __proto__', 'a/__proto__/b', /__proto__/],
    ['that is a number', 7, /7/],
    ['that is undefined', undefined, /undefined/],
    ['that is an object', { toString: () => 'k' }, /object/],
  ]

  test.each(bad)('%s is refused by every method', async (_, key, message) => {
    const stage = await busy()
    const calls: ((shaper: Shaper) => unknown)[] = [
      (shaper) => shaper.enqueue(key as string, 0),
      (shaper) => shaper.forecast(key as string),
      (shaper) => shaper.inspect(key as string),
      (shaper) => shaper.freeze(key as string, 10),
      (shaper) => shaper.pause(key as string),
      (shaper) => shaper.resume(key as string),
      (shaper) => shaper.limits.resolve(key as string),
      (shaper) => shaper.limits.set(key as string, '5, 1/s'),
      (shaper) => shaper.limits.unset(key as string),
      () => new Shaper(key as string, { limits: {} }),
    ]
    for (const call of calls) await stage.refuses(call, InvalidKeyError, 'invalid-key', message)
  })

  test.each(bad)('%s is refused in a batch, with all others, and says which one it was', async (_, key) => {
    const stage = await busy()
    const requests = [
      { key: 'k', data: 0 },
      { key: key as string, data: 0 },
      { key: 'k', data: 0 },
    ]
    await stage.refuses(
      (shaper) => shaper.enqueueMany(requests),
      InvalidKeyError,
      'invalid-key',
      /^enqueueMany \[1\]: /,
    )
  })

  test.each(['k'.repeat(256), 'constructor', 'hasOwnProperty', ' ', '*', 'a//b', '/a', '😀'])(
    '%j is good',
    async (key) => {
      const stage = new Stage('9, 2/s')
      expect(await stage.shaper.enqueue(key, 0)).toMatchObject({ accepted: true, key })
      expect(await stage.shaper.inspect(key)).toMatchObject({ key, jobs: 1 })
    },
  )
})

test.each<[string, (shaper: Shaper) => unknown, string]>([
  ['groups that are no list', (shaper) => shaper.tally('a' as never), 'tally: expected groups to be a list'],
  [
    'a group that is no list',
    (shaper) => shaper.tally([5] as never),
    'expected groups.0 to be a list, got: 5',
  ],
  [
    'a key of a group that is none',
    (shaper) => shaper.tally([[5]] as never),
    'expected groups.0.0 to be a string',
  ],
  [
    'a listener to remove that is none',
    (shaper) => shaper.off('admitted', 5 as never),
    'off: expected the listener',
  ],
  [
    'an event to leave that is none',
    (shaper) => shaper.off('admited' as never, () => undefined),
    'perhaps admitted',
  ],
  [
    'a view of keys that is no function',
    (shaper) => shaper.limits.preview({ unset: 'k' }, 5 as never),
    'limits.preview: expected sees to be a function of a key, got: 5',
  ],
])('%s is refused', async (_, call, message) => {
  const stage = await busy()
  await stage.refuses(call, InvalidOptionsError, 'invalid-options', message)
})

describe('data', () => {
  class Money {
    readonly cents = 5
  }
  const circular: Record<string, unknown> = {}
  circular['self'] = circular
  const hole = [1, 2, 3]
  delete hole[1]

  test.each<[string, unknown, RegExp]>([
    ['undefined', undefined, /undefined/],
    ['a function', () => 0, /function/],
    ['a symbol', Symbol('s'), /symbol/],
    ['a bigint', 1n, /bigint/],
    ['NaN', Number.NaN, /NaN/],
    ['Infinity', { x: Number.POSITIVE_INFINITY }, /Infinity at \$\["x"\]/],
    ['a Date', new Date(), /Date/],
    ['a Map', { deep: [new Map()] }, /Map at \$\["deep"\]\[0\]/],
    ['a Set', new Set(), /Set/],
    ['a Buffer', Buffer.from('x'), /Buffer/],
    ['a promise', Promise.resolve(1), /Promise/],
    ['a class instance', new Money(), /Money/],
    ['undefined in an array', [undefined], /undefined at \$\[0\]/],
    ['an array with a hole', hole, /undefined at \$\[1\]/],
    ['a circle', circular, /circular/],
    ['an object with toJSON', { toJSON: () => 1 }, /toJSON/],
    ['an array with toJSON', Object.assign([1], { toJSON: () => undefined }), /toJSON/],
  ])('that JSON would not keep is refused: %s', async (_, data, message) => {
    const stage = await busy()
    await stage.refuses((shaper) => shaper.enqueue('k', data), InvalidDataError, 'invalid-data', message)
    const requests = [
      { key: 'k', data: 0 },
      { key: 'k', data },
    ]
    await stage.refuses((shaper) => shaper.enqueueMany(requests), InvalidDataError, 'invalid-data', message)
    await stage.refuses(
      (shaper) => shaper.enqueueMany(requests),
      InvalidDataError,
      'invalid-data',
      /^enqueueMany \[1\]: /,
    )
  })

  test.each([
    [null],
    [false],
    [0],
    [''],
    ['\ud800'],
    [[]],
    [{}],
    [{ a: [{ b: null }], c: 'é\u2028', __proto__: null }],
    [JSON.parse('{"__proto__": {"polluted": true}, "constructor": 1}')],
  ])('that JSON keeps comes to the handler as it was: %j', async (data) => {
    const stage = new Stage('9, 2/s')
    const seen: unknown[] = []
    stage.shaper.work((job) => void seen.push(job.data))
    await stage.shaper.enqueue('k', data)
    await stage.pass(1)
    expect(JSON.stringify(seen)).toBe(JSON.stringify([data]))
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
  })
})

describe('an option', () => {
  test.each<[object | null | string, RegExp]>([
    [{ costz: 1 }, /unknown option "costz": did you mean cost\?/],
    [{ deadline: 1 }, /did you mean deadlineMs\?/],
    [{ wholly: 1 }, /known are id, cost/],
    [JSON.parse('{"__proto__": {"cost": 2}}'), /__proto__/],
    [{ cost: 0 }, /cost/],
    [{ cost: -1 }, /cost/],
    [{ cost: 1.5 }, /cost.*1\.5/],
    [{ cost: Number.NaN }, /cost.*NaN/],
    [{ cost: '1' }, /cost.*"1"/],
    [{ cost: null }, /cost.*null/],
    [{ id: '' }, /id/],
    [{ id: 'a b' }, /id.*"a b"/],
    [{ id: 'a:b' }, /id.*"a:b"/],
    [{ id: 'a\n' }, /id/],
    [{ id: 'é' }, /id/],
    [{ id: 'x'.repeat(129) }, /id/],
    [{ id: 7 }, /id.*7/],
    [{ deadlineMs: 0 }, /deadlineMs/],
    [{ deadlineMs: -1 }, /deadlineMs/],
    [{ deadlineMs: Number.NaN }, /deadlineMs/],
    [{ deadlineMs: Number.POSITIVE_INFINITY }, /deadlineMs/],
    [{ attempts: 0 }, /attempts/],
    [{ attempts: 1.5 }, /attempts/],
    [{ attempts: 1_001 }, /attempts/],
    [{ timeoutMs: 0 }, /timeoutMs/],
    [{ traceparent: '' }, /traceparent/],
    [{ traceparent: `00-${'A'.repeat(32)}-${'a'.repeat(16)}-01` }, /traceparent.*digits 0-9a-f/],
    [{ traceparent: `00-${'a'.repeat(32)}-${'a'.repeat(16)}-01\n` }, /traceparent/],
    [{ traceparent: `00-${'a'.repeat(32)}-${'a'.repeat(16)}-01-more` }, /traceparent/],
    [{ backoff: -1 }, /backoff/],
    [{ backoff: { type: 'linear', delayMs: 1 } }, /backoff/],
    [{ backoff: { type: 'fixed' } }, /backoff/],
    [{ backoff: { type: 'fixed', delayMs: 1, jitter: 2 } }, /backoff/],
    [{ backoff: { type: 'fixed', delayMs: 1, delay: 2 } }, /backoff/],
    [null, /options.*null/],
    ['cost', /options.*"cost"/],
    [[1], /options.*array/],
  ])('of enqueue is refused: %j', async (options, message) => {
    const stage = await busy()
    await stage.refuses(
      (shaper) => shaper.enqueue('k', 0, options as never),
      InvalidOptionsError,
      'invalid-options',
      message,
    )
    if (typeof options !== 'object' || options === null || Array.isArray(options)) return
    const requests = [
      { key: 'k', data: 0 },
      { ...options, key: 'k', data: 0 },
    ]
    if (Object.keys(options).includes('__proto__')) return
    await stage.refuses(
      (shaper) => shaper.enqueueMany(requests as never),
      InvalidOptionsError,
      'invalid-options',
      /enqueueMany \[1\]/,
    )
  })

  test.each<[unknown, RegExp]>([
    [undefined, /array of requests, got: undefined/],
    [{ key: 'k', data: 0 }, /array of requests, got: an object/],
    [[null], /\[0\].*null/],
    [[{ key: 'k', data: 0 }, 7], /\[1\].*7/],
    [[{ key: 'k', data: 0, costz: 3 }], /\[0\].*mean cost\?/],
  ])('a batch is refused: %j', async (requests, message) => {
    const stage = await busy()
    await stage.refuses(
      (shaper) => shaper.enqueueMany(requests as never),
      InvalidOptionsError,
      'invalid-options',
      message,
    )
  })

  test.each<[unknown]>([[0], [-1], [1.5], [Number.NaN], ['1'], [null]])(
    'a forecast of cost %j is refused',
    async (cost) => {
      const stage = await busy()
      await stage.refuses(
        (shaper) => shaper.forecast('k', cost as number),
        InvalidOptionsError,
        'invalid-options',
        /^forecast: .*cost/,
      )
    },
  )

  test.each<[unknown]>([[0], [-1], [Number.NaN], [Number.POSITIVE_INFINITY], ['10'], [undefined]])(
    'a freeze of %j is refused, and as an error of a handler it cannot be made',
    async (forMs) => {
      const stage = await busy()
      await stage.refuses(
        (shaper) => shaper.freeze('k', forMs as number),
        InvalidOptionsError,
        'invalid-options',
        /forMs/,
      )
      expect(() => new FreezeError({ forMs } as never)).toThrow(InvalidOptionsError)
    },
  )

  test.each<[object | null, RegExp]>([
    [{ sorted: 'key' }, /mean sort\?/],
    [{ sort: 'size' }, /sort/],
    [{ limit: 0 }, /limit/],
    [{ limit: 1_001 }, /limit/],
    [{ minFill: -0.1 }, /minFill/],
    [{ maxFill: Number.NaN }, /maxFill/],
    [{ state: 'happy' }, /state/],
    [{ prefix: 7 }, /prefix/],
    [{ under: '' }, /under/],
    [{ pattern: '' }, /pattern/],
    [{ minOldestWaitMs: -1 }, /minOldestWaitMs/],
    [{ sort: 'key', cursor: Buffer.from('[1,"k",0,1]').toString('base64url') }, /cursor/],
    [{ cursor: 'nonsense' }, /cursor.*"nonsense"/],
    [{ cursor: Buffer.from('[1]').toString('base64url') }, /cursor/],
    [{ cursor: '' }, /cursor/],
    [null, /options.*null/],
  ])('of buckets is refused: %j', async (query, message) => {
    const stage = await busy()
    await stage.refuses(
      (shaper) => shaper.buckets(query as never),
      InvalidOptionsError,
      'invalid-options',
      message,
    )
  })

  test.each<[unknown, unknown, RegExp]>([
    [undefined, {}, /handler to be a function, got: undefined/],
    ['handler.js', {}, /handler to be a function/],
    [() => 0, { concurency: 3 }, /mean concurrency\?/],
    [() => 0, { concurrency: 0 }, /concurrency/],
    [() => 0, { concurrency: 1.5 }, /concurrency/],
    [() => 0, null, /options.*null/],
  ])('of work is refused: %j, %j', async (handler, options, message) => {
    const stage = await busy()
    await stage.refuses(
      (shaper) => shaper.work(handler as never, options as never),
      InvalidOptionsError,
      'invalid-options',
      message,
    )
  })

  test.each<[unknown, RegExp]>([
    [undefined, /options.*undefined/],
    [{}, /limits/],
    [{ limits: null }, /limits/],
    [{ limits: 'all' }, /limits/],
    [{ limits: {}, limit: 3 }, /mean limits\?/],
    [{ limits: {}, clock: {} }, /clock/],
    [{ limits: {}, clock: Date }, /clock/],
    [{ limits: {}, jobDefaults: { attemps: 3 } }, /attemps.*mean attempts\?/],
    [{ limits: {}, jobDefaults: { attempts: 0 } }, /jobDefaults\.attempts/],
    [{ limits: {}, jobDefaults: { keepFinished: -1 } }, /keepFinished/],
    [{ limits: {}, jobDefaults: { backoff: { type: 'fixed' } } }, /delayMs/],
  ])('of a shaper is refused: %j', (options, message) => {
    const birth = () => new Shaper('name', options as never)
    expect(birth).toThrow(InvalidOptionsError)
    expect(birth).toThrow(message)
  })

  test('limits that are an array are refused', () => {
    expect(() => new Shaper('name', { limits: ['5, 1/s'] } as never)).toThrow(/limits/)
  })

  test('that was refused is recognised across copies of the package', async () => {
    const { shaper } = await busy()
    const error = await shaper.enqueue('k', 0, { cost: 0 }).catch((reason: unknown) => reason)
    expect(isVelvetRopeError(error, 'invalid-options')).toBe(true)
    expect(isVelvetRopeError(Object.assign(new Error('x'), error), 'invalid-options')).toBe(true)
  })
})

test.each([null, undefined, 1])('an id that is %s is refused where one is required', async (id) => {
  const { shaper } = new Stage('5, 1/s')
  await expect(shaper.cancel(id as never)).rejects.toMatchObject({ code: 'invalid-options' })
  await expect(shaper.job(id as never)).rejects.toMatchObject({ code: 'invalid-options' })
})

test('limits that are not a plain object, and a batch with holes, are refused', async () => {
  const limits = new Map([['*', '1, 1/s']])
  expect(() => new Stage(limits as never)).toThrow(/expected limits such as/)
  const { shaper } = new Stage('5, 1/s')
  await expect(shaper.enqueueMany(new Array(3))).rejects.toThrow(/enqueueMany \[0\]/)
})

describe('data', () => {
  test.each([
    ['of ASCII', 'x'.repeat(1_022)],
    ['of letters of two bytes', 'é'.repeat(511)],
    ['of letters of three bytes', `${'€'.repeat(340)}xx`],
    ['of letters of four bytes', `${'🎟'.repeat(255)}xx`],
  ])('%s are taken up to maxDataBytes, quotes included, and refused above', async (_, text) => {
    const shaper = new Shaper('s', { limits: { '*': '9, 2/s' }, maxDataBytes: 1_024 })
    expect(await shaper.enqueue('k', text)).toMatchObject({ accepted: true })
    const tooLarge = shaper.enqueue('k', `${text}x`)
    await expect(tooLarge).rejects.toMatchObject({ code: 'data-too-large', bytes: 1_025, maxBytes: 1_024 })
    const batch = shaper.enqueueMany([
      { key: 'k', data: 1 },
      { key: 'k', data: `${text}x` },
    ])
    await expect(batch).rejects.toThrow(/enqueueMany \[1\]: expected data of at most 1024 bytes/)
    expect(await shaper.inspect('k')).toMatchObject({ jobs: 1 })
    await shaper.close()
  })

  test('of 1 MiB are taken by default, and one byte more is not', async () => {
    const shaper = new Shaper('s', { limits: { '*': '9, 2/s' } })
    expect(await shaper.enqueue('k', 'x'.repeat(1_048_574))).toMatchObject({ accepted: true })
    await expect(shaper.enqueue('k', 'x'.repeat(1_048_575))).rejects.toThrow(DataTooLargeError)
    await shaper.close()
  })
})
