import { expect, test } from 'vitest'
import { InvalidKeyError, InvalidLimitError, NoLimitError } from '../../../src/core/errors.ts'
import { type ChangedRules, LayeredBook, parseLayer } from '../../../src/core/layered-book.ts'
import { changeLayers, type RuleChange } from '../../../src/core/rule-layers.ts'
import { LiveRuleBook, type RuleStore } from '../../../src/line/limits.ts'
import { LocalLimits } from '../../../src/line/local-limits.ts'

/** Takes its time for changes, and can be away. */
class SlowStore implements RuleStore {
  readonly localLimits = new LocalLimits({ now: () => 0, isGoverned: () => true, onChange: () => undefined })
  rules = LayeredBook.of(parseLayer({ '*': '5, 2/s' }))
  isAway = false

  refresh(): void {}

  async *survey(): AsyncGenerator<never> {}

  line(): undefined {}

  async changeRules(change: RuleChange): Promise<ChangedRules> {
    await Promise.resolve()
    if (this.isAway) throw new Error('away')
    const before = this.rules
    const layers = changeLayers(before.layers, change, 7_000)
    if (layers !== undefined) this.rules = new LayeredBook(layers)
    return { at: 7_000, isChanged: layers !== undefined, before, after: this.rules }
  }
}

test('a change over a store that takes its time has been made when its promise resolves', async () => {
  const limits = new LiveRuleBook(new SlowStore())
  const changed = limits.set('a', '3, 1/s')
  expect(limits.resolve('a').pattern).toBe('*')
  expect(await changed).toEqual({ pattern: 'a', limit: '3, 1/s', origin: 'override', at: 7 })
  expect(limits.list()).toEqual([
    { pattern: '*', limit: '5, 2/s', origin: 'code' },
    { pattern: 'a', limit: '3, 1/s', origin: 'override', at: 7 },
  ])
  expect([await limits.unset('a'), await limits.unset('a'), await limits.unset('*')]).toEqual([
    true,
    false,
    true,
  ])
  expect(() => limits.resolve('a')).toThrow(NoLimitError)
})

test('invalid input never reaches the store, and what the store refuses is thrown', async () => {
  const store = new SlowStore()
  store.isAway = true
  const limits = new LiveRuleBook(store)
  await expect(limits.set('a', 'no limit')).rejects.toThrow(InvalidLimitError)
  await expect(limits.set('', '3, 1/s')).rejects.toThrow(InvalidKeyError)
  await expect(limits.unset('')).rejects.toThrow(InvalidKeyError)
  await expect(limits.reset('')).rejects.toThrow(InvalidKeyError)
  await expect(limits.load({ a: '3, 1/s', b: 'no limit' })).rejects.toThrow(InvalidLimitError)
  await expect(limits.set('a', '3, 1/s')).rejects.toThrow('away')
  await expect(limits.unset('*')).rejects.toThrow('away')
  await expect(limits.reset('*')).rejects.toThrow('away')
  await expect(limits.load({})).rejects.toThrow('away')
  expect(limits.list()).toHaveLength(1)
})
