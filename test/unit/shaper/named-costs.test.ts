import { describe, expect, it } from 'vitest'
import { InvalidOptionsError } from '../../../src/index.ts'
import { Stage } from '../../support/stage.ts'

const LLM = '500, 500/minute, 90000 tokens/minute 1200 each'

describe('costs', () => {
  it.each([
    [{ tokens: 0 }, 'costs.tokens to be a whole number from 1 to 1000000000, got: 0'],
    [{ tokens: '5' }, 'costs.tokens to be a whole number from 1 to 1000000000, got: "5" (string)'],
    [{ tokens: 1e9 + 1 }, 'costs.tokens to be a whole number from 1 to 1000000000, got: 1000000001'],
    [{ 'to kens': 1 }, 'each name in costs to be a name of 1 to 32 letters'],
    [{ [Symbol('tokens')]: 1 }, 'each name in costs to be'],
    [JSON.parse('{"__proto__": 1}'), 'each name in costs to be'],
    [JSON.parse('{"tokens": 1, "__proto__": 1}'), 'each name in costs to be'],
    [
      Object.fromEntries('abcdefghi'.split('').map((unit) => [unit, 1])),
      'costs to be an object with at most 8 units, not 9, got: an object',
    ],
    ['tokens=5', 'costs to be an object such as { tokens: 1200 }, got: "tokens=5" (string)'],
  ])('are refused: %j', async (costs, message) => {
    const stage = new Stage(LLM)
    const asked = { costs } as { costs: Record<string, number> }
    await expect(stage.shaper.enqueue('a', 0, asked)).rejects.toThrow(InvalidOptionsError)
    await expect(stage.shaper.enqueue('a', 0, asked)).rejects.toThrow(`enqueue: expected ${message}`)
    await expect(stage.shaper.tryAcquire('a', asked)).rejects.toThrow(/costs/)
    await expect(stage.shaper.forecast('a', asked)).rejects.toThrow(/costs/)
    await expect(stage.shaper.enqueueMany([{ key: 'a', data: 0, ...asked }])).rejects.toThrow(/costs/)
  })

  it('are counted before any of many is read', async () => {
    const { shaper } = new Stage(LLM)
    let reads = 0
    const one = { enumerable: true, get: () => ++reads }
    const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`u${n}`, one]))
    const costs = Object.defineProperties({}, many) as Record<string, number>
    await expect(shaper.enqueue('a', 0, { costs })).rejects.toThrow('at most 8 units, not 1000')
    await expect(shaper.settle('x', costs)).rejects.toThrow('at most 8 units, not 1000')
    expect(reads).toBe(0)
  })

  it.each(['{"__proto__": 1}', '{"tokens": 1, "__proto__": 1}'])(
    'are refused to settle: %s',
    async (text) => {
      const { shaper } = new Stage(LLM)
      await expect(shaper.settle('x', JSON.parse(text))).rejects.toThrow(/amounts.*"__proto__"/)
    },
  )

  it('are part of what makes a repeated id the same request, in any order', async () => {
    const stage = new Stage(LLM)
    await stage.shaper.enqueue('a', 0, { id: 'x', costs: { tokens: 5, images: 2 } })
    const again = await stage.shaper.enqueue('a', 0, { id: 'x', costs: { images: 2, tokens: 5 } })
    expect(again).toMatchObject({ replayed: true })
    await expect(stage.shaper.enqueue('a', 0, { id: 'x', costs: { tokens: 6, images: 2 } })).rejects.toThrow()
    await expect(stage.shaper.enqueue('a', 0, { id: 'x' })).rejects.toThrow()
    expect(await stage.shaper.job('x')).toMatchObject({ costs: { images: 2, tokens: 5 } })
  })
})
