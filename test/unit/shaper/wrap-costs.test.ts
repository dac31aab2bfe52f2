import { describe, expect, it } from 'vitest'
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
