import { parseLimit } from '../../../../src/core/limit.ts'
import type { Draws } from '../seeded/draws.ts'
import type { Pretended } from './pretend-line.ts'

export interface Alteration {
  /** Alters the history; false when it has nothing to alter. */
  alter(line: Pretended, draws: Draws): boolean
  /** The first judge knows when the line decided; the second only when it was asked and when it answered. */
  readonly onlyFirstMayKnow?: boolean
}

const pickIndex = (items: readonly unknown[], draws: Draws) => draws.between(0, items.length - 1)

/** Ways in which a history may go wrong; some of them leave it as legal as it was, and then neither judge may complain. */
export const ALTERATIONS: Readonly<Record<string, Alteration>> = {
  'a start is moved': {
    alter({ starts, limit }, draws) {
      const { interval } = parseLimit(limit)
      const at = pickIndex(starts, draws)
      const start = starts[at]!
      starts[at] = { ...start, at: start.at + draws.between(-interval, interval) / 2 }
      return true
    },
    // A start before the moment of its admission, and after the call that asked for it.
    onlyFirstMayKnow: true,
  },
  'two starts change places': {
    alter({ starts }, draws) {
      if (starts.length < 2) return false
      const at = draws.between(0, starts.length - 2)
      const [a, b] = [starts[at]!, starts[at + 1]!]
      starts[at] = { ...b, at: a.at }
      starts[at + 1] = { ...a, at: b.at }
      return true
    },
    // Calls that overlapped may have been decided in either order.
    onlyFirstMayKnow: true,
  },
  'a start happens twice': {
    alter({ starts }, draws) {
      const last = starts.at(-1)
      if (last === undefined) return false
      starts.push({ ...starts[pickIndex(starts, draws)]!, at: last.at + 10_000_000 })
      return true
    },
  },
  'a start is not seen': {
    alter({ starts }, draws) {
      starts.splice(pickIndex(starts, draws), 1)
      return true
    },
    // That a retry came back without having started.
    onlyFirstMayKnow: true,
  },
  'an end is missing': {
    alter({ ends }, draws) {
      ends.splice(pickIndex(ends, draws), 1)
      return true
    },
  },
  'an end happens twice': {
    alter({ ends }, draws) {
      const end = ends[pickIndex(ends, draws)]!
      ends.push({ ...end, at: end.at + 50, seenAt: end.seenAt + 50 })
      return true
    },
  },
  'a refused job runs': {
    alter({ calls, starts, ends }, draws) {
      const refused = calls.filter(({ answer }) => answer === 'full')
      const last = starts.at(-1)
      if (refused.length === 0 || last === undefined) return false
      const { id, key, cost } = refused[pickIndex(refused, draws)]!
      const at = last.at + 10_000_000
      starts.push({ at, process: 'w', key, id, cost, attempt: 1 })
      ends.push({ id, at: at + 100, seenAt: at + 200, outcome: 'completed' })
      return true
    },
  },
  'a job runs that was never asked for': {
    alter({ starts, ends }) {
      const last = starts.at(-1)
      if (last === undefined) return false
      const at = last.at + 10_000_000
      starts.push({ ...last, at, id: 'ghost' })
      ends.push({ id: 'ghost', at: at + 100, seenAt: at + 200, outcome: 'completed' })
      return true
    },
  },
  'a refusal is an acceptance': {
    alter({ calls, starts, ends }, draws) {
      const refused = calls.filter(({ answer }) => answer === 'full')
      if (refused.length === 0) return false
      const call = refused[pickIndex(refused, draws)]!
      calls[calls.indexOf(call)] = { ...call, answer: 'accepted' }
      const at = Math.max(...starts.map((start) => start.at)) + 10_000_000
      starts.push({ at, process: 'w', key: call.key, id: call.id, cost: call.cost, attempt: 1 })
      ends.push({ id: call.id, at: at + 100, seenAt: at + 200, outcome: 'completed' })
      return true
    },
    // A call that overlaps a departure may have been decided after it.
    onlyFirstMayKnow: true,
  },
  'a cancelled job starts': {
    alter({ starts, ends, calls }) {
      const end = ends.find(({ outcome }) => outcome === 'cancelled')
      const last = starts.at(-1)
      const call = calls.find(({ id }) => id === end?.id)
      if (call === undefined || last === undefined) return false
      starts.push({ ...last, at: last.at + 10_000_000, id: call.id, cost: call.cost, attempt: 1 })
      return true
    },
  },
}
