import { describe, expect, it } from 'vitest'
import { InvalidOptionsError, UnknownUnitError } from '../../../src/index.ts'
import { Stage } from '../../support/stage.ts'

const LLM = '9, 10/s, 100 tokens/minute 10 each'

function open(limits = LLM) {
  const stage = new Stage(limits)
  const used = async () => (await stage.shaper.inspect('k'))?.quotas?.[0]?.used
  return { stage, shaper: stage.shaper, used }
}

describe('costs of a wrapped function', () => {
  it('are those of the options, or what a function of the arguments returns', async () => {
    const { stage, shaper, used } = open()
    const same = shaper.wrap((name: string) => name, { key: 'k', costs: { tokens: 30 } })
    const named = shaper.wrap((name: string, tokens: number) => name + tokens, {
      key: 'k',
      costs: (_, tokens) => (tokens > 0 ? { tokens } : undefined),
    })
    const answers = [same('a'), named('b', 45), named('c', 0)]
    await stage.pass(1_000)
    expect(await Promise.all(answers)).toEqual(['a', 'b45', 'c0'])
    expect(await used()).toBe(30 + 45 + 10)
    await stage.conforms()
  })

  it.each([
    [
      { costs: { tokens: 0 } },
      'wrap: expected costs.tokens to be a whole number from 1 to 1000000000, got: 0',
    ],
    [{ costs: 5 }, 'wrap: expected costs to be'],
  ])('are refused: %o', (more, message) => {
    const { shaper } = open()
    expect(() => shaper.wrap(() => 1, { key: 'k', ...more } as { key: string })).toThrow(message)
  })

  it('that a function returns are checked before anything is called', async () => {
    const { shaper } = open()
    let calls = 0
    const call = shaper.wrap(() => ++calls, { key: 'k', costs: () => ({ tokens: 1.5 }) })
    await expect(call()).rejects.toThrow('acquire: expected costs.tokens to be a whole number')
    expect([calls, (await shaper.audit()).admitted]).toEqual([0, 0])
  })
})

describe('settle of a wrapped function', () => {
  const calling = (settle: (...given: never[]) => unknown, limits?: string) => {
    const { stage, shaper, used } = open(limits)
    const errors: Error[] = []
    shaper.on('error', (error) => void errors.push(error))
    const fn = async (name: string, tokens: number) => ({ name, tokens })
    const call = shaper.wrap(fn, { key: 'k', costs: { tokens: 60 }, settle: settle as () => undefined })
    return { stage, shaper, used, errors, call }
  }

  it('says what the call counted, of its result and its arguments, before its caller goes on', async () => {
    const given: unknown[] = []
    const { stage, shaper, used, call } = calling((result: { tokens: number }, ...args: unknown[]) => {
      given.push([result, ...args])
      return { tokens: result.tokens }
    })
    const settled: unknown[] = []
    shaper.on('settled', ({ amounts }) => void settled.push(amounts))
    const first = call('a', 7).then((result) => [result, settled.length])
    await stage.pass(0)
    expect(await first).toEqual([{ name: 'a', tokens: 7 }, 1])
    expect(given).toEqual([[{ name: 'a', tokens: 7 }, 'a', 7]])
    // By the estimate of the first, it would have waited for a minute.
    const second = call('b', 8)
    await stage.pass(100)
    await second
    expect(settled).toEqual([{ tokens: 7 }, { tokens: 8 }])
    expect(await used()).toBe(7 + 8)
    await stage.conforms()
  })

  it('waits for a promise, and comes before the place is given back', async () => {
    let resolve: (amounts: object) => void = () => undefined
    const asked = new Promise((later) => {
      resolve = later
    })
    const { stage, shaper, used, call } = calling(
      () => asked,
      '9, 10/s, 100 tokens/minute 10 each, 1 at once',
    )
    const answer = call('a', 7)
    await stage.pass(0)
    expect((await shaper.inspect('k'))?.places).toMatchObject({ taken: 1 })
    resolve({ tokens: 9 })
    await answer
    expect([(await shaper.inspect('k'))?.places?.taken, await used()]).toEqual([0, 9])
    await stage.conforms()
  })

  it('leaves the estimate where it returns nothing, and where the function fails', async () => {
    const { stage, shaper, used, errors, call } = calling(() => undefined)
    const answer = call('a', 7)
    await stage.pass(0)
    await answer
    expect(await used()).toBe(60)
    const never = () => {
      throw new Error('asked')
    }
    const failing = shaper.wrap(async () => Promise.reject(new Error('no luck')), { key: 'k', settle: never })
    const failed = expect(failing()).rejects.toThrow('no luck')
    await stage.pass(100)
    await failed
    expect([await used(), errors]).toEqual([70, []])
  })

  it.each([
    ['throws', () => Promise.reject(new TypeError('no usage')), TypeError, 'no usage'],
    ['is no amount', () => ({ tokens: 1.5 }), InvalidOptionsError, 'settle: expected amounts.tokens to be'],
    ['is no object', () => 5, InvalidOptionsError, 'settle: expected amounts to be'],
    ['is of another unit', () => ({ images: 1 }), UnknownUnitError, 'images'],
  ])('that %s is an error event: the caller gets its result, and the estimate stands', async (...row) => {
    const [, settle, type, message] = row
    const { stage, used, errors, call } = calling(settle)
    const answer = call('a', 7)
    await stage.pass(0)
    expect(await answer).toEqual({ name: 'a', tokens: 7 })
    expect(errors).toEqual([expect.any(type)])
    expect(errors[0]!.message).toContain(message)
    expect(await used()).toBe(60)
  })

  it('must be a function', () => {
    const { shaper } = open()
    const options = { key: 'k', settle: { tokens: 5 } } as unknown as { key: string }
    expect(() => shaper.wrap(() => 1, options)).toThrow(
      'wrap: expected settle to be a function of the result that returns what a call counted, got: an object',
    )
  })
})
