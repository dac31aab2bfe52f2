import { expect, it } from 'vitest'
import { TurnController } from '../../../src/fetch/turn-controller.ts'

/** A connection's controller, as far as it is used. */
class Connection {
  paused = false
  aborted = false
  reason: Error | null = null
  rawHeaders = ['x-a', '1']
  rawTrailers = ['x-b', '2']

  abort(reason: Error): void {
    this.aborted = true
    this.reason = reason
  }

  pause(): void {
    this.paused = true
  }

  resume(): void {
    this.paused = false
  }
}

it('has no connection at first', () => {
  const { aborted, reason, paused, rawHeaders, rawTrailers } = new TurnController()
  expect([aborted, reason, paused, rawHeaders, rawTrailers]).toEqual([
    false,
    null,
    false,
    undefined,
    undefined,
  ])
})

it('forwards calls to its connection, and reports its state', () => {
  const [controller, connection] = [new TurnController(), new Connection()]
  controller.connect(connection)
  expect([controller.aborted, controller.reason]).toEqual([false, null])
  expect([controller.rawHeaders, controller.rawTrailers]).toEqual([
    ['x-a', '1'],
    ['x-b', '2'],
  ])
  controller.pause()
  expect([controller.paused, connection.paused]).toEqual([true, true])
  controller.resume()
  expect([controller.paused, connection.paused]).toEqual([false, false])
  const reason = new Error('no more')
  controller.abort(reason)
  expect(connection.reason).toBe(reason)
  expect([controller.aborted, controller.reason, controller.signal.aborted]).toEqual([true, reason, false])
})

it('applies earlier calls to each new connection', () => {
  const controller = new TurnController()
  controller.pause()
  const [first, second] = [new Connection(), new Connection()]
  controller.connect(first)
  controller.connect(second)
  expect([first.paused, second.paused]).toEqual([true, true])

  const given = new TurnController()
  const reason = new Error('no more')
  given.abort(reason)
  expect([given.aborted, given.reason, given.signal.reason]).toEqual([true, reason, reason])
  const late = new Connection()
  given.connect(late)
  expect(late.reason).toBe(reason)
})
