import type { Calls } from './calls.ts'
import type { World } from './world.ts'

export interface Step<AnyWorld = World, AnyCalls = Calls> {
  readonly world: AnyWorld
  readonly calls: AnyCalls
}

export interface Transition<AnyStep extends Step<unknown, unknown> = Step> {
  readonly name: string
  /** The verb that implements it: its script below src/redis, or what else does. */
  readonly verb: string
  /** It is a fault, or follows only from one: the rest of the line must get on without it. */
  readonly isFault?: boolean
  /** In how many ways it may happen: to which process, job or delivery. */
  readonly ways: (world: AnyStep['world']) => number
  /** Makes the step; false where it cannot happen, and then the world is void. */
  readonly take: (step: AnyStep, way: number) => boolean
  /** For people: to what it happened. */
  readonly describe?: (world: AnyStep['world'], way: number) => string
}

/** Scripts, which stand in src/redis. */
export const VERBS = {
  admit: 'verbs/admit.lua',
  claim: 'verbs/claim.lua',
  gate: 'verbs/gate.lua',
  start: 'verbs/start.lua',
  renew: 'verbs/renew.lua',
  settle: 'verbs/settle.lua',
  finish: 'verbs/finish.lua',
  recover: 'verbs/recover.lua',
  expire: 'verbs/expire.lua',
  cancel: 'verbs/cancel.lua',
  hold: 'verbs/hold.lua',
  resign: 'verbs/resign.lua',
  quarantine: 'verbs/quarantine.lua',
  retime: 'rules/retime.lua',
  book: 'rules/book.lua',
} as const

/** What is no verb, by where it stands. */
export const PLACES = {
  hand: 'transport/bullmq-handoff.ts',
  receive: 'transport/bullmq-receiver.ts',
  look: 'slots/start-window.ts',
  clock: 'slots/redis-clock.ts',
  trim: 'scripts/lib/retention.lua',
  guard: 'scripts/lib/lease.lua',
  process: 'a process',
  network: 'the network',
  server: 'the Redis server',
  time: 'time',
} as const

export const letters = 'abcdefghijkl'
