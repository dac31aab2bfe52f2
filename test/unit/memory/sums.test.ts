import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Sums } from '../../../src/memory/store/sums.ts'

const change = fc.record({ index: fc.nat(), amount: fc.integer({ min: 0, max: 9 }) })

test('sums are those of all numbers before, at every length', () => {
  const length = fc.integer({ min: 0, max: 14 }).map((power) => 2 ** power)
  fc.assert(
    fc.property(length, fc.array(change, { maxLength: 60 }), (length, changes) => {
      const sums = new Sums(length)
      const numbers = new Array<number>(length).fill(0)
      for (const [n, { index, amount }] of changes.entries()) {
        const at = index % length
        // Every third takes back what is there.
        const by = n % 3 === 2 ? -numbers[at]! : amount
        sums.add(at, by)
        numbers[at]! += by
      }
      const before = (index: number) => numbers.slice(0, index).reduce((sum, number) => sum + number, 0)
      expect(sums.total).toBe(before(length))
      for (const { index } of changes) expect(sums.before(index % length)).toBe(before(index % length))
      for (const { index } of changes) {
        const zeros = sums.zerosFrom(index % length)
        expect(numbers.slice(index % length, (index % length) + zeros).every((number) => number === 0)).toBe(
          true,
        )
        expect(zeros > 0).toBe(numbers[index % length] === 0)
      }
    }),
  )
})

test('a stretch of zeros is passed in few steps', () => {
  const length = 2 ** 18
  const sums = new Sums(length)
  sums.add(0, 1)
  sums.add(length - 1, 1)
  let steps = 0
  for (let at = 1; at < length - 1; at += sums.zerosFrom(at)) steps++
  expect(steps).toBeLessThan(5 * 64)
})
