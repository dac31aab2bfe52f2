import { describe, expect, test, vi } from 'vitest'
import { type Pool, Semaphore, Units } from '../../../src/core/semaphore.ts'

/** Makes claims; `inside` lists those that were granted. */
function asking<Claim>(room: Semaphore<Claim>) {
  const inside: string[] = []
  const ask = (name: string, claim: Claim) => {
    if (room.tryTake(claim)) inside.push(name)
    else return room.take(claim, () => void inside.push(name))
    return () => undefined
  }
  return { inside, ask }
}

test('gives out as many units as there are, then waits for some to come back', () => {
  const room = new Semaphore(new Units(10))
  const { inside, ask } = asking(room)
  ask('a', 6)
  ask('b', 4)
  ask('c', 1)
  expect(inside).toEqual(['a', 'b'])
  room.release(4)
  expect(inside).toEqual(['a', 'b', 'c'])
})

test('lets in alone what is larger than all of it', () => {
  const room = new Semaphore(new Units(10))
  const { inside, ask } = asking(room)
  ask('a', 1)
  ask('huge', 99)
  expect(inside).toEqual(['a'])
  room.release(1)
  ask('b', 1)
  expect(inside).toEqual(['a', 'huge'])
  room.release(99)
  expect(inside).toEqual(['a', 'huge', 'b'])
})

test('serves in the order of asking: small ones do not keep a large one out', () => {
  const room = new Semaphore(new Units(10))
  const { inside, ask } = asking(room)
  ask('a', 5)
  ask('b', 5)
  ask('large', 10)
  ask('small', 1)
  room.release(5)
  expect(inside).toEqual(['a', 'b'])
  room.release(5)
  expect(inside).toEqual(['a', 'b', 'large'])
  room.release(10)
  expect(inside).toEqual(['a', 'b', 'large', 'small'])
})

test('one that gives up makes way for those behind', () => {
  const room = new Semaphore(new Units(10))
  const { inside, ask } = asking(room)
  ask('a', 5)
  const giveUp = ask('large', 10)
  ask('b', 5)
  giveUp()
  expect(inside).toEqual(['a', 'b'])
})

test('one that gives up twice, or after it was served, takes nothing from others', () => {
  const room = new Semaphore(new Units(1))
  const { inside, ask } = asking(room)
  ask('a', 1)
  const giveUp = ask('b', 1)
  room.release(1)
  giveUp()
  giveUp()
  ask('c', 1)
  expect(inside).toEqual(['a', 'b'])
})

test('counts what was taken', () => {
  const units = new Units(10)
  const room = new Semaphore(units)
  room.tryTake(6)
  room.tryTake(5)
  expect([units.taken, units.isEmpty]).toEqual([6, false])
  room.tryTake(4)
  expect([units.taken, units.isEmpty]).toEqual([10, true])
})

test('one that waits is refused when all are, unless it did not ask to hear of it', () => {
  const room = new Semaphore(new Units(1))
  const heard: unknown[] = []
  room.tryTake(1)
  room.take(
    1,
    () => heard.push('first'),
    (error) => heard.push(error),
  )
  room.take(1, () => heard.push('second'))
  room.refuseAll('away')
  expect(heard).toEqual(['away'])
  room.release(1)
  expect(heard).toEqual(['away', 'second'])
})

describe('a pool without an order', () => {
  /** One of each kind. */
  class Kinds implements Pool<string> {
    readonly isInOrder = false
    readonly isEmpty = false
    readonly taken = new Set<string>()
    fits = (kind: string) => !this.taken.has(kind)
    take = (kind: string) => void this.taken.add(kind)
    putBack = (kind: string) => this.taken.delete(kind)
  }

  test('does not look through those that wait when what came back lets nothing more in', () => {
    class Shared extends Kinds {
      override putBack = () => false
    }
    const pool = new Shared()
    const kinds = new Semaphore(pool)
    kinds.tryTake('a')
    kinds.take('a', () => undefined)
    const looks = vi.spyOn(pool, 'fits')
    kinds.release('a')
    expect(looks).not.toHaveBeenCalled()
  })

  test('gives to those behind what the first cannot use', () => {
    const kinds = new Semaphore(new Kinds())
    const { inside, ask } = asking(kinds)
    for (const kind of ['x', 'y', 'x', 'y']) ask(kind, kind)
    kinds.release('y')
    expect(inside).toEqual(['x', 'y', 'y'])
    expect(kinds.mayTake('z')).toBe(true)
  })

  test('one that gives up changes nothing for the others', () => {
    const kinds = new Semaphore(new Kinds())
    const { inside, ask } = asking(kinds)
    ask('a', 'x')
    const giveUp = ask('b', 'x')
    ask('c', 'x')
    giveUp()
    kinds.release('x')
    expect(inside).toEqual(['a', 'c'])
  })

  test('notifies those that only look when their claim fits, once, and they take nothing', () => {
    const kinds = new Semaphore(new Kinds())
    const heard: string[] = []
    kinds.tryTake('x')
    kinds.tryTake('y')
    kinds.whenFree('x', () => heard.push('x'))
    kinds.whenFree('y', () => heard.push('y'))
    kinds.whenFree('x', () => heard.push('cancelled'))()
    kinds.release('x')
    expect(heard).toEqual(['x'])
    expect(kinds.tryTake('x')).toBe(true)
    kinds.release('x')
    kinds.release('y')
    expect(heard).toEqual(['x', 'y'])
  })

  test('serves those that wait before those that look', () => {
    const kinds = new Semaphore(new Kinds())
    const heard: string[] = []
    kinds.tryTake('x')
    kinds.whenFree('x', () => heard.push('looks'))
    kinds.take('x', () => heard.push('takes'))
    kinds.release('x')
    expect(heard).toEqual(['takes'])
  })
})
