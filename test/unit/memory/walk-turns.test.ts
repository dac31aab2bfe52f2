import { setImmediate as passTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { Walk } from '../../../src/memory/store/bucket-walk.ts'
import { WalkTurns } from '../../../src/memory/walk-turns.ts'

/** A walk of so many slices; each is noted with the name of the walk. */
function* walk(name: string, slices: number, noted: string[]): Walk<string> {
  for (let slice = 1; ; slice++) {
    noted.push(name)
    if (slice === slices) return name
    yield
  }
}

test('many walks together do one slice each time the event loop comes round, and take turns', async () => {
  const turns = new WalkTurns()
  const noted: string[] = []
  const all = ['a', 'b', 'c'].map((name) => turns.run(walk(name, 3, noted)))
  expect(noted).toEqual(['a'])
  const counts: number[] = []
  while (noted.length < 9) {
    await passTurn()
    counts.push(noted.length)
  }
  const steps = counts.map((count, index) => count - (counts[index - 1] ?? 1))
  expect(Math.max(...steps)).toBe(1)
  expect(await Promise.all(all)).toEqual(['a', 'b', 'c'])
  expect(noted.join('')).toBe('aabcabcbc')
})

test('a short walk alone is done at once', async () => {
  const turns = new WalkTurns()
  expect(turns.run(walk('a', 1, []))).toBe('a')
  const second = turns.run(walk('b', 1, []))
  expect(second).toBeInstanceOf(Promise)
  expect(await second).toBe('b')
  await passTurn()
  expect(turns.run(walk('c', 1, []))).toBe('c')
})
