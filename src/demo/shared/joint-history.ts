import type { HistoryEvent } from '../../conformance/history.ts'
import { MILLISECOND } from '../../core/duration.ts'
import { hasParts } from '../../core/limit.ts'

/**
 * A start has the latest time at which it can have begun, by an inexact clock. Redis may have known of it, and
 * reassigned its place, this much earlier.
 */
const HEARD_BEFORE = 20 * MILLISECOND
const NEVER = Number.NEGATIVE_INFINITY

/**
 * Merges the records of several processes into one history, in the order of their common clock. Each records the limit
 * of a key when it first sees the key: the first record is kept. Audits are made at the end.
 */
export function joinHistories(histories: readonly (readonly HistoryEvent[])[]): HistoryEvent[] {
  const unsorted = histories.flat()
  const acceptedAt = new Map<string, number>()
  for (const event of unsorted)
    if (event.type === 'answer' && event.accepted) acceptedAt.set(event.id, event.at)
  const roomBefore = roomMade(unsorted)
  const openBefore = opened(unsorted)
  const place = (event: HistoryEvent) => {
    if (event.type !== 'start') return event.at
    const { id, key, at } = event
    return Math.max(at - HEARD_BEFORE, acceptedAt.get(id) ?? NEVER, roomBefore(key, at), openBefore(key, at))
  }
  const events = unsorted.sort((a, b) => place(a) - place(b) || rank(a) - rank(b))
  const end = events.reduce((latest, { at }) => Math.max(latest, at), 0)
  const limited = new Set<string>()
  const past = events.filter((event) => {
    if (event.type !== 'limit') return event.type !== 'audit'
    if (limited.has(event.key)) return false
    limited.add(event.key)
    return true
  })
  const audits = events.filter((event) => event.type === 'audit').map((event) => ({ ...event, at: end }))
  return [...past, ...audits]
}

/**
 * Returns a function that says when a place of a key, or of a family that it belongs to, was freed last before a start, or a start was
 * settled; -Infinity where their limits have neither places nor quotas. The start may have taken that very room, however inexact its
 * time is.
 */
function roomMade(events: readonly HistoryEvent[]): (key: string, startedAt: number) => number {
  const freed = new Map<string, number[]>()
  for (const event of events) {
    if (event.type === 'limit' && hasParts(event.limit)) freed.set(event.key, [])
  }
  const keyOf = new Map<string, string>()
  const held = new Set<string>()
  for (const event of events) {
    if (event.type !== 'start') continue
    keyOf.set(event.id, event.key)
    if (event.isHeld) held.add(event.id)
  }
  const free = (key: string | undefined, at: number) => {
    for (const limited of key === undefined ? [] : limitsOf(key)) freed.get(limited)?.push(at)
  }
  for (const event of events) {
    if (event.type === 'settle') free(event.key, event.at)
    if (event.type !== 'end' && event.type !== 'return' && event.type !== 'release') continue
    if (event.type === 'end' && held.has(event.id)) continue
    free(keyOf.get(event.id), event.at)
  }
  return lastOf(freed)
}

/** Returns a function that says when a key, or a family that it belongs to, was last resumed or unfrozen before a start; -Infinity: never. */
function opened(events: readonly HistoryEvent[]): (key: string, startedAt: number) => number {
  const times = new Map<string, number[]>()
  for (const event of events) {
    if (event.type !== 'resume' && event.type !== 'unfreeze') continue
    times.set(event.key, [...(times.get(event.key) ?? []), event.at])
  }
  return lastOf(times)
}

/** Returns a function that says which of the times of a key, and of the families that it belongs to, is the last before a start; -Infinity: none. */
function lastOf(times: ReadonlyMap<string, number[]>): (key: string, startedAt: number) => number {
  for (const each of times.values()) each.sort((a, b) => a - b)
  return (key, startedAt) =>
    Math.max(...limitsOf(key).map((limited) => lastBefore(times.get(limited), startedAt)))
}

/** The names under which a limit may hold a key: its own, and those of all families that it belongs to. */
function limitsOf(key: string): string[] {
  const segments = key.split('/')
  return [key, ...segments.map((_, at) => `${segments.slice(0, at + 1).join('/')}/`)]
}

/** The last of the sorted times that is before `at`; -Infinity: none. */
function lastBefore(times: readonly number[] = [], at: number): number {
  let [low, high] = [0, times.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (times[middle]! < at) low = middle + 1
    else high = middle
  }
  return times[low - 1] ?? NEVER
}

function rank({ type }: HistoryEvent): number {
  if (type === 'limit') return 0
  return type === 'start' ? 2 : 1
}
