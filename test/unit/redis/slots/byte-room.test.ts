import { expect, test } from 'vitest'
import { ByteRoom } from '../../../../src/redis/slots/byte-room.ts'

/** Asks for room; the list tells who got it. */
function asking(room: ByteRoom) {
  const inside: string[] = []
  const ask = (name: string, bytes: number) => {
    if (room.tryTake(bytes)) inside.push(name)
    else return room.take(bytes, () => void inside.push(name))
    return () => undefined
  }
  return { inside, ask }
}

test('gives out as many bytes as there are, then waits for some to come back', () => {
  const room = new ByteRoom(10)
  const { inside, ask } = asking(room)
  ask('a', 6)
  ask('b', 4)
  ask('c', 1)
  expect(inside).toEqual(['a', 'b'])
  room.release(4)
  expect(inside).toEqual(['a', 'b', 'c'])
  expect(room.taken).toBe(7)
})

test('lets in alone what is larger than all of it', () => {
  const room = new ByteRoom(10)
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
  const room = new ByteRoom(10)
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
  const room = new ByteRoom(10)
  const { inside, ask } = asking(room)
  ask('a', 5)
  const giveUp = ask('large', 10)
  ask('b', 5)
  giveUp()
  expect(inside).toEqual(['a', 'b'])
})
