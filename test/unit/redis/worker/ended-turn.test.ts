import { expect, test } from 'vitest'
import { SECOND } from '../../../../src/core/duration.ts'
import { BackendUnavailableError, UnknownUnitError } from '../../../../src/core/errors.ts'
import { EndedTurn } from '../../../../src/redis/worker/ended-turn.ts'

/** A turn that was charged ten tokens, and a store that carries out each operation once and remembers it for ten seconds. */
function stage() {
  let now = 0
  let names = 0
  let counted = 10
  let fails: 'before' | 'after' | undefined
  const remembered = new Map<string, number>()
  const asked: string[] = []
  const turn = new EndedTurn(
    'tokens 10 3.5',
    () => now,
    () => `operation-${++names}`,
    async ({ tokens, images }, operation, isAgain) => {
      asked.push(operation)
      if (images !== undefined) throw new UnknownUnitError('k', 'images', ['tokens'])
      if (fails === 'before') throw new BackendUnavailableError('no answer')
      const isKnown = now - (remembered.get(operation) ?? Number.NEGATIVE_INFINITY) < 10 * SECOND
      if (!isKnown) counted += isAgain ? Math.max(0, tokens! - 10) : tokens! - 10
      if (!isKnown) remembered.set(operation, now)
      if (fails === 'after') throw new BackendUnavailableError('no answer')
      return true
    },
  )
  return {
    turn,
    asked,
    counted: () => counted,
    fail: (how: typeof fails) => {
      fails = how
    },
    pass: (seconds: number) => {
      now += seconds * SECOND
    },
  }
}

test('the first amounts count, once', async () => {
  const { turn, counted } = stage()
  const answers = await Promise.all(
    [{ tokens: 7 }, { tokens: 7 }, { tokens: 900 }].map((asked) => turn.settle(asked)),
  )
  expect(answers).toEqual([true, false, false])
  expect(counted()).toBe(7)
})

test.each(['before', 'after'] as const)(
  'an answer that is missing is asked for again, and %s it was carried out nothing is lost or counted twice',
  async (how) => {
    const { turn, counted, fail, pass } = stage()
    fail(how)
    const failed = await Promise.allSettled([turn.settle({ tokens: 900 }), turn.settle({ tokens: 900 })])
    expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    fail(undefined)
    pass(4)
    expect(await turn.settle({ tokens: 900 })).toBe(true)
    expect(await turn.settle({ tokens: 900 })).toBe(false)
    expect(counted()).toBe(900)
  },
)

test('other amounts than the first do not count, and what was asked first does', async () => {
  const { turn, counted, fail } = stage()
  fail('before')
  await expect(turn.settle({ tokens: 900 })).rejects.toThrow(BackendUnavailableError)
  fail(undefined)
  expect(await turn.settle({ tokens: 5 })).toBe(false)
  expect(counted()).toBe(900)
})

test.each([
  ['more than was charged counts', 900, true],
  ['less does not count again', 4, false],
])('when the store may have forgotten the operation, %s', async (_, tokens, isCounted) => {
  const { turn, asked, counted, fail, pass } = stage()
  fail('after')
  await expect(turn.settle({ tokens })).rejects.toThrow(BackendUnavailableError)
  fail(undefined)
  pass(60)
  expect(await turn.settle({ tokens })).toBe(isCounted)
  expect(counted()).toBeGreaterThanOrEqual(tokens)
  // A total may have been charged less, so the store is asked in each case.
  expect(asked).toHaveLength(2)
})

test('where the store has nothing to settle for a unit, it may have it for another', async () => {
  const asked: string[] = []
  const turn = new EndedTurn(
    '',
    () => 0,
    () => `operation-${asked.length}`,
    async ({ images }, operation) => {
      asked.push(operation)
      return images !== undefined
    },
  )
  expect(await turn.settle({ tokens: 1 })).toBe(false)
  expect(await turn.settle({ images: 1 })).toBe(true)
  expect(await turn.settle({ images: 1 })).toBe(false)
  expect(asked).toEqual(['operation-0', 'operation-1'])
})

test('a unit that no quota counts settles nothing, and the right one still may', async () => {
  const { turn, counted } = stage()
  await expect(turn.settle({ images: 1 })).rejects.toThrow(UnknownUnitError)
  expect(await turn.settle({ tokens: 12 })).toBe(true)
  expect(counted()).toBe(12)
})
