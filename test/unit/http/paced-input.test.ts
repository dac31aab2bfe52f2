import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { PacedInput } from '../../../src/http/paced-input.ts'

function openInput(mayRead = () => true) {
  const stream = new Duplex({ read: () => undefined, write: (_, __, done) => done() })
  const pieces: Buffer[] = []
  stream.on('data', (piece: Buffer) => void pieces.push(piece))
  const input = new PacedInput(stream as unknown as Socket, mayRead)
  return { stream, input, pieces, bytes: () => pieces.reduce((sum, { length }) => sum + length, 0) }
}

test('a large body that came at once is given to the parser in many turns of the event loop, whole and in order', async () => {
  const { stream, bytes, pieces } = openInput()
  const body = Buffer.from(Array.from({ length: 1_048_576 }, (_, index) => index % 251))
  stream.push(body)
  let most = 0
  let turns = 0
  for (; bytes() < body.length; turns++) {
    const before = bytes()
    await turn()
    most = Math.max(most, bytes() - before)
  }
  // Two parts: what was left of one turn, and that of the next.
  expect(most).toBeLessThanOrEqual(2 * (131_072 + 65_536))
  expect(turns).toBeGreaterThanOrEqual(3)
  expect(Buffer.concat(pieces).equals(body)).toBe(true)
})

test('nothing more is given while no more requests may come, whatever turns pass', async () => {
  let may = true
  const { stream, input, bytes, pieces } = openInput(() => may)
  stream.push(Buffer.alloc(1_048_576, 1))
  await turn()
  may = false
  // What is under way in this turn ends.
  await turn()
  const before = bytes()
  for (let turns = 0; turns < 20; turns++) await turn()
  expect(bytes()).toBe(before)
  may = true
  input.goOn()
  while (bytes() < 1_048_576) await turn()
  expect(Buffer.concat(pieces)).toHaveLength(1_048_576)
})
