import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { expect, test } from 'vitest'
import * as diagnostics from '../../../src/core/diagnostics.ts'
import { lateStarts, leaderships } from '../../../src/core/diagnostics.ts'

const LATE = { shaper: 'sms', key: 'k', id: 'a' }

test('a message reaches a subscriber until it unsubscribes', () => {
  const heard: unknown[] = []
  const stop = lateStarts.subscribe((message) => void heard.push(message))
  lateStarts.publish(LATE)
  stop()
  lateStarts.publish(LATE)
  expect(heard).toEqual([LATE])
})

test('a channel knows whether it has subscribers, so that no message is created in vain', () => {
  expect(lateStarts.hasSubscribers).toBe(false)
  const stops = [lateStarts.subscribe(() => undefined), lateStarts.subscribe(() => undefined)]
  expect(lateStarts.hasSubscribers).toBe(true)
  expect(leaderships.hasSubscribers).toBe(false)
  stops[0]!()
  stops[0]!()
  expect(lateStarts.hasSubscribers).toBe(true)
  stops[1]!()
  expect(lateStarts.hasSubscribers).toBe(false)
})

test('a listener that subscribes twice is called twice, and each subscription ends on its own', () => {
  const heard: unknown[] = []
  const listener = (message: unknown) => void heard.push(message)
  const stops = [lateStarts.subscribe(listener), lateStarts.subscribe(listener)]
  lateStarts.publish(LATE)
  expect(heard).toHaveLength(2)
  stops[0]!()
  lateStarts.publish(LATE)
  expect(heard).toHaveLength(3)
  stops[1]!()
})

test.each<[string, { publish(message: never): void }]>([
  ['departure', diagnostics.departures],
  ['handler', diagnostics.handlerEnds],
  ['late-start', diagnostics.lateStarts],
  ['script', diagnostics.scriptRuns],
  ['redis-error', diagnostics.redisErrors],
  ['handoff', diagnostics.handoffs],
  ['pass', diagnostics.schedulerPasses],
  ['leader', diagnostics.leaderships],
  ['fill', diagnostics.meterFillings],
])('any code may subscribe to velvet-rope:%s by that name', (name, published) => {
  const heard: unknown[] = []
  const listener = (message: unknown) => void heard.push(message)
  subscribe(`velvet-rope:${name}`, listener)
  const message = { shaper: 'sms' }
  published.publish(message as never)
  unsubscribe(`velvet-rope:${name}`, listener)
  expect(heard).toEqual([message])
})
