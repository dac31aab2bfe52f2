import { expect, test } from 'vitest'
import { InvalidKeyError, InvalidLimitError, NoLimitError } from '../../../src/core/errors.ts'
import { RuleBook } from '../../../src/core/rule-book.ts'
import { LiveRuleBook, type RuleStore } from '../../../src/shaper/limits.ts'

/** Takes its time for changes, and can be away. */
class SlowStore implements RuleStore {
  readonly #book = new RuleBook({ '*': '5, 2/s' })
  isAway = false

  rules() {
    return this.#book.list()
  }

  findRule(key: string) {
    return this.#book.find(key)
  }

  async setRule(rule: ReturnType<RuleBook['resolve']>) {
    await this.#round()
    this.#book.put(rule)
  }

  async unsetRule(pattern: string) {
    await this.#round()
    return this.#book.unset(pattern)
  }

  async #round() {
    await Promise.resolve()
    if (this.isAway) throw new Error('away')
  }
}

test('a change over a store that takes its time has been made when its promise resolves', async () => {
  const limits = new LiveRuleBook(new SlowStore())
  const changed = limits.set('a', '3, 1/s')
  expect(limits.resolve('a').pattern).toBe('*')
  expect(await changed).toEqual({ pattern: 'a', limit: '3, 1/s' })
  expect(limits.list()).toEqual([
    { pattern: '*', limit: '5, 2/s' },
    { pattern: 'a', limit: '3, 1/s' },
  ])
  expect([await limits.unset('a'), await limits.unset('a'), await limits.unset('*')]).toEqual([
    true,
    false,
    true,
  ])
  expect(() => limits.resolve('a')).toThrow(NoLimitError)
})

test('what is wrong never reaches the store, and what the store refuses is told', async () => {
  const store = new SlowStore()
  store.isAway = true
  const limits = new LiveRuleBook(store)
  await expect(limits.set('a', 'no limit')).rejects.toThrow(InvalidLimitError)
  await expect(limits.set('', '3, 1/s')).rejects.toThrow(InvalidKeyError)
  await expect(limits.unset('')).rejects.toThrow(InvalidKeyError)
  await expect(limits.set('a', '3, 1/s')).rejects.toThrow('away')
  await expect(limits.unset('*')).rejects.toThrow('away')
  expect(limits.list()).toHaveLength(1)
})
