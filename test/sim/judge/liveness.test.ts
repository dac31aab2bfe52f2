import { expect, test } from 'vitest'
import { parseLimit } from '../../../src/core/limit.ts'
import type { HistoryEvent } from '../../../src/testing.ts'
import type { Silence, Struck } from '../actors/faults.ts'
import type { Seen } from '../actors/recorder.ts'
import type { Plan } from '../plan/plan.ts'
import { judgeLiveness } from './liveness.ts'
import { accepted, aPlan, SECOND } from './planted.ts'
import type { Life } from './troubles.ts'

const NEVER = Number.POSITIVE_INFINITY
const TWO_WORKERS = [
  { at: 0, concurrency: 100, lease: 10_000, scheduler: true },
  { at: 0, concurrency: 100, lease: 10_000, scheduler: true },
]
const LIVES: readonly Life[] = [
  { name: 'worker-1', from: 0, until: NEVER },
  { name: 'worker-2', from: 0, until: NEVER },
]

function started(id: string, at: number, by = 'worker-1', cost = 1): Seen {
  return { by, event: { type: 'start', at: at * SECOND, id, key: 'k', cost, attempt: 1 } }
}

function ended(id: string, at: number, by = 'worker-1'): Seen {
  return { by, event: { type: 'end', at: at * SECOND, id, outcome: 'completed' } }
}

function of(type: 'pause' | 'resume', at: number): Seen {
  return { by: 'operator', event: { type, at: at * SECOND, key: 'k' } }
}

interface Facts {
  readonly plan?: Partial<Plan>
  readonly silences?: readonly Silence[]
  readonly struck?: readonly Struck[]
  readonly lives?: readonly Life[]
}

/** Its breaches: by when starts were expected. Seconds. */
function breaches(
  seen: readonly Seen[],
  { plan = {}, silences = [], struck = [], lives = LIVES }: Facts = {},
): number[] {
  const known = { plan: aPlan({ workers: TWO_WORKERS, ...plan }), silences, struck, lives, unsure: [] }
  const history: HistoryEvent[] = seen.map(({ event }) => event)
  return judgeLiveness(known, history, seen, NEVER).map(({ at }) => at / SECOND)
}

function silence(process: string, from: number, until: number, facts: Partial<Silence> = {}): Silence {
  const cause = 'its link'
  return {
    process,
    from: from * SECOND,
    until: until * SECOND,
    isDeath: false,
    cause,
    breaks: false,
    ...facts,
  }
}

function killed(process: string, at: number): Facts {
  const lives = LIVES.map((life) => (life.name === process ? { ...life, until: at * SECOND } : life))
  return { silences: [silence(process, at, at, { isDeath: true, cause: 'itself', breaks: true })], lives }
}

test('a job that has its slot, and does not start though nothing is wrong, is late', () => {
  expect(breaches([accepted('a', 10), started('a', 10.1), ended('a', 10.2)])).toEqual([])
  expect(breaches([accepted('a', 10), started('a', 16), ended('a', 17)])).toHaveLength(1)
})

test('a job that never starts is late at the end of the history', () => {
  expect(breaches([accepted('a', 10)])).toEqual([])
  expect(breaches([accepted('a', 10), accepted('b', 40)])).toHaveLength(1)
})

test('a job waits for its slot, a freeze and a pause, and no longer', () => {
  const first = [accepted('a', 10), started('a', 10.1, 'worker-1', 20), accepted('b', 10.2)]
  expect(breaches([...first, started('b', 30.2)])).toEqual([])
  expect(breaches([...first, started('b', 40)])).toHaveLength(1)
  const paused = [accepted('a', 10), of('pause', 10.1), of('resume', 40)]
  expect(breaches([...paused, started('a', 40.2)])).toEqual([])
  expect(breaches([...paused, started('a', 50)])).toHaveLength(1)
})

test('what a killed worker ran starts again within its lease and a few seconds', () => {
  const history = [accepted('a', 10), started('a', 10.1)]
  const kill = killed('worker-1', 12)
  expect(breaches([...history, started('a', 24, 'worker-2')], kill)).toEqual([])
  expect(breaches([...history, started('a', 33, 'worker-2')], kill)).toHaveLength(1)
})

test('the bound after a kill follows the lease of the plan', () => {
  const workers = TWO_WORKERS.map((worker) => ({ ...worker, lease: 1_000 }))
  const history = [accepted('a', 10), started('a', 10.1)]
  const facts = { ...killed('worker-1', 12), plan: { workers } }
  expect(breaches([...history, started('a', 17, 'worker-2')], facts)).toEqual([])
  expect(breaches([...history, started('a', 24, 'worker-2')], facts)).toHaveLength(1)
})

test('starts go on soon after another scheduler was killed, and after Redis is back', () => {
  const scheduler = {
    ...killed('scheduler-1', 10),
    lives: [...LIVES, { name: 'scheduler-1', from: 0, until: 10 * SECOND }],
  }
  expect(breaches([accepted('a', 10.5), started('a', 14)], scheduler)).toEqual([])
  expect(breaches([accepted('a', 10.5), started('a', 22)], scheduler)).toHaveLength(1)
  const stall: Facts = {
    silences: ['worker-1', 'worker-2'].map((name) => silence(name, 10, 20, { cause: 'everything' })),
  }
  expect(breaches([accepted('a', 9.9), started('a', 24)], stall)).toEqual([])
  expect(breaches([accepted('a', 9.9), started('a', 45)], stall)).toHaveLength(1)
})

test('an outage adds to what waits once, however many processes it is an outage for', () => {
  const stall = (count: number): Facts => {
    const names = Array.from({ length: count }, (_, index) => `worker-${index + 1}`)
    const workers = names.map(() => TWO_WORKERS[0]!)
    return {
      plan: { workers },
      lives: names.map((name) => ({ name, from: 0, until: NEVER })),
      silences: names.map((name) => silence(name, 10, 20, { cause: 'everything' })),
    }
  }
  expect(breaches([accepted('a', 9.9), started('a', 27.9)], stall(6))).toEqual([])
  expect(breaches([accepted('a', 9.9), started('a', 28.1)], stall(1))).toHaveLength(1)
  expect(breaches([accepted('a', 9.9), started('a', 28.1)], stall(6))).toHaveLength(1)
})

test('a process that begins works soon, and one that begins beside others excuses nothing for longer', () => {
  const history = (at: number) => [accepted('a', 0.2), started('a', at)]
  expect(breaches(history(3.4))).toEqual([])
  expect(breaches(history(3.7))).toHaveLength(1)
  const another = { lives: [...LIVES, { name: 'worker-2#2', from: 10 * SECOND, until: NEVER }] }
  expect(breaches([accepted('a', 10.1), started('a', 13.3)], another)).toEqual([])
  expect(breaches([accepted('a', 10.1), started('a', 13.7)], another)).toHaveLength(1)
})

test('a producer that is silent, slow, closed or killed keeps no accepted job from starting', () => {
  const process = 'producer-1'
  const late = (facts: Facts, at = 14) => breaches([accepted('a', 10.1), started('a', at)], facts)
  const of = (fault: Extract<Struck['fault'], { part: string }>): Facts => ({
    struck: [{ fault, process: fault.part, from: 10 * SECOND, until: 15 * SECOND }],
  })
  const close = (part: string) => of({ kind: 'close', part, at: 10_000, back: 5_000, until: 15_000 })
  const { network } = aPlan()
  const slow = (part: string) => {
    return of({ kind: 'slow', part, at: 10_000, for: 5_000, ...network, until: 15_000 })
  }
  expect(late({ silences: [silence(process, 10, 15)] })).toHaveLength(1)
  expect(late({ silences: [silence(process, 10.1, 10.1, { isDeath: true })] })).toHaveLength(1)
  expect(late(close(process))).toHaveLength(1)
  expect(late(slow(process))).toHaveLength(1)
  expect([close('worker-1'), slow('worker-1')].map((facts) => late(facts))).toEqual([[], []])
})

test('a worker that is busy is no reason while another has a handler free', () => {
  const workers = TWO_WORKERS.map((worker) => ({ ...worker, concurrency: 1 }))
  const busy = [accepted('a', 10), started('a', 10.1), accepted('b', 11)]
  const both = [...busy, started('b', 11.2, 'worker-2'), accepted('c', 12)]
  const plan = { workers }
  expect(breaches([...busy, started('b', 13, 'worker-2')], { plan })).toEqual([])
  expect(breaches([...busy, started('b', 20, 'worker-2')], { plan })).toHaveLength(1)
  expect(breaches([...both, ended('b', 30, 'worker-2'), started('c', 30.1, 'worker-2')], { plan })).toEqual(
    [],
  )
  // The other one is not heard, or gone.
  const silent = silence('worker-2', 10.5, 60)
  expect(breaches([...busy, ended('a', 50), started('b', 50.1)], { plan, silences: [silent] })).toEqual([])
  const gone = { plan, lives: [LIVES[0]!, { ...LIVES[1]!, until: 10 * SECOND }] }
  expect(breaches([...busy, ended('a', 50), started('b', 50.1)], gone)).toEqual([])
})

test('the lease of a killed worker lasts longer by a time in which no scheduler was heard', () => {
  const workers = TWO_WORKERS.map((worker) => ({ ...worker, scheduler: false }))
  const kill = killed('worker-1', 12)
  const lives = [...kill.lives!, { name: 'scheduler-1', from: 0, until: NEVER }]
  const history = [accepted('a', 10), started('a', 10.1), started('a', 31, 'worker-2')]
  const heard = { plan: { workers }, silences: kill.silences!, lives }
  expect(breaches(history, heard)).toHaveLength(1)
  const silences = [...kill.silences!, silence('scheduler-1', 13, 19)]
  expect(breaches(history, { ...heard, silences })).toEqual([])
  // It began before the death.
  const longer = [...kill.silences!, silence('scheduler-1', 11.5, 19)]
  expect(breaches(history, { ...heard, silences: longer })).toEqual([])
  expect(
    breaches([...history.slice(0, 2), started('a', 40, 'worker-2')], { ...heard, silences }),
  ).toHaveLength(1)
})

test('what a worker was granted that was silent for longer than its leases waits for them, also while no scheduler was heard', () => {
  const plan = {
    workers: [
      { ...TWO_WORKERS[0]!, scheduler: true },
      { ...TWO_WORKERS[1]!, scheduler: false },
    ],
  }
  const history = (at: number) => [accepted('a', 9.9), started('a', at, 'worker-1')]
  const alone: Facts = { plan, silences: [silence('worker-1', 10, 20.5)] }
  expect(breaches(history(33), alone)).toEqual([])
  expect(breaches(history(38), alone)).toHaveLength(1)
  // It may have been cut off with all others just before.
  const cut = [silence('worker-1', 9.95, 10, { cause: 'everything' }), silence('worker-1', 10, 20.5)]
  expect(breaches(history(33), { plan, silences: cut })).toEqual([])
  // Where others schedule, leases end meanwhile.
  expect(breaches(history(33), { ...alone, plan: { workers: TWO_WORKERS } })).toHaveLength(1)
  // It asks again where its leases are not over.
  expect(breaches(history(25), { plan, silences: [silence('worker-1', 10, 14)] })).toHaveLength(1)
})

test('the lease of a killed worker lasts longer by an outage after its death, also for a job that can start only later', () => {
  const history = [accepted('a', 10), started('a', 10.1), of('pause', 12.5), of('resume', 24)]
  const { silences, lives } = killed('worker-1', 12)
  const outage = silence('worker-2', 13, 15, { cause: 'everything', isRestart: true })
  const facts: Facts = { silences: [...silences!, outage], lives: lives! }
  expect(breaches([...history, started('a', 32, 'worker-2')], facts)).toEqual([])
  expect(breaches([...history, started('a', 44, 'worker-2')], facts)).toHaveLength(1)
})

test('the lease of a killed worker lasts longer by outages since it was renewed', () => {
  const { silences, lives } = killed('worker-1', 12)
  const history = [accepted('a', 1), started('a', 1.1), started('a', 36, 'worker-2')]
  const after = (...outages: readonly number[]) => {
    const away = outages.map((from) =>
      silence('worker-2', from, from + 0.1, { cause: 'everything', isRestart: true }),
    )
    return breaches(history, { silences: [...silences!, ...away], lives: lives! })
  }
  expect(after(11, 11.5)).toEqual([])
  expect(after(6, 6.5)).toHaveLength(1)
  expect(after()).toHaveLength(1)
})

test('the lease of a killed worker lasts longer by a restart while no process lives', () => {
  const { silences } = killed('worker-1', 12)
  const lives = [
    { name: 'worker-1', from: 0, until: 12 * SECOND },
    { name: 'worker-1#2', from: 14 * SECOND, until: NEVER },
  ]
  const facts: Facts = { plan: { workers: TWO_WORKERS.slice(1) }, silences: silences!, lives }
  const fault = { kind: 'restart', at: 13_000, down: 100, keeps: 'all', until: 13_100 } as const
  const struck = [{ fault, from: 13 * SECOND, until: 13.1 * SECOND }]
  const restarted = (at: number) => [accepted('a', 10), started('a', 10.1), started('a', at, 'worker-1#2')]
  expect(breaches(restarted(36), facts)).toHaveLength(1)
  expect(breaches(restarted(36), { ...facts, struck })).toEqual([])
  expect(breaches(restarted(44), { ...facts, struck })).toHaveLength(1)
})

test('the lease of a killed worker runs from when its link brings what it had written, if that was held on its way there', () => {
  const history = (at: number) => [accepted('a', 10), started('a', 10.1), started('a', at, 'worker-2')]
  const { silences, lives } = killed('worker-1', 12)
  const held = (from: number, until: number, direction: 'there' | 'back' | 'both', process = 'worker-1') => {
    const when = { at: from * 1_000 }
    const length = (until - from) * 1_000
    const fault = { kind: 'hold', part: process, when, for: length, direction, until: until * 1_000 } as const
    return { fault, process, from: from * SECOND, until: until * SECOND }
  }
  const late = (at: number, ...struck: readonly Struck[]) =>
    breaches(history(at), { silences: silences!, lives: lives!, struck })
  expect(late(33)).toHaveLength(1)
  expect(late(33, held(11, 19, 'both'))).toEqual([])
  expect(late(33, held(11, 15, 'there'), held(14, 19, 'there'))).toEqual([])
  // Released at 19 s: a lease of 10 s, 3.5 s until it is found, and what is usual.
  expect(late(39, held(11, 19, 'both'))).toHaveLength(1)
  // On its way back, of another process, over before the kill, or begun after it: nothing is on its way.
  for (const other of [
    held(11, 19, 'back'),
    held(11, 19, 'there', 'worker-2'),
    held(5, 11.9, 'there'),
    held(12.1, 19, 'there'),
  ])
    expect(late(33, other)).toHaveLength(1)
})

test('what a worker held that closed while it was not heard waits for its lease', () => {
  const lives = [{ ...LIVES[0]!, until: 12 * SECOND }, ...LIVES.slice(1)]
  const history = [accepted('a', 11.9)]
  const unheard = { lives, silences: [silence('worker-1', 11.95, 12.2)] }
  expect(breaches([...history, started('a', 24, 'worker-2')], unheard)).toEqual([])
  expect(breaches([...history, started('a', 35, 'worker-2')], unheard)).toHaveLength(1)
  const heard = { lives, silences: [silence('worker-1', 1, 2)] }
  expect(breaches([...history, started('a', 24, 'worker-2')], heard)).toHaveLength(1)
})

test('nothing is expected while no worker lives, and while all handlers are busy', () => {
  const gone = LIVES.map((life) => ({ ...life, until: 10 * SECOND }))
  const back = { lives: [...gone, { name: 'worker-1#2', from: 60 * SECOND, until: NEVER }] }
  expect(breaches([accepted('a', 20), started('a', 61, 'worker-1#2')], back)).toEqual([])
  expect(breaches([accepted('a', 20), started('a', 90, 'worker-1#2')], back)).toHaveLength(1)
  const workers = [{ at: 0, concurrency: 1, lease: 10_000, scheduler: true }]
  const lives = [LIVES[0]!]
  const long = [accepted('a', 10), started('a', 10.1), accepted('b', 11), ended('a', 40)]
  expect(breaches([...long, started('b', 40.1)], { plan: { workers }, lives })).toEqual([])
  expect(breaches([...long, started('b', 60)], { plan: { workers }, lives })).toHaveLength(1)
})

test('nothing is expected of a key while the handlers that are free are kept for another first segment', () => {
  const workers = [{ at: 0, concurrency: 2, lease: 10_000, scheduler: true }]
  const seen = [accepted('a', 10), started('a', 10.1), accepted('b', 11), ended('a', 40), started('b', 40.1)]
  const facts = (other: string) => {
    const keys = ['k', other].map((key) => ({ key, capacity: 10, rate: { count: 1, per: 1_000 } }))
    return { plan: { workers, keys }, lives: [LIVES[0]!] }
  }
  expect(breaches(seen, facts('another'))).toEqual([])
  expect(breaches(seen, facts('k/sibling'))).toEqual([])
  expect(breaches(seen, { plan: { workers }, lives: [LIVES[0]!] })).toHaveLength(1)
  const larger = facts('another')
  expect(
    breaches(seen, { ...larger, plan: { ...larger.plan, workers: [{ ...workers[0]!, concurrency: 4 }] } }),
  ).toHaveLength(1)
})

test('after a restart a job waits as long as a slot by the slowest limit of its run can be away, and no longer', () => {
  const restart = { kind: 'restart', at: 9_000, down: 100, keeps: 'all', until: 9_100 } as const
  const struck = [{ fault: restart, from: 9 * SECOND, until: 9.1 * SECOND }]
  const pace = (count: number) => ({ key: 'k', capacity: 10, rate: { count, per: 40_000 } })
  const late = (at: number, plan: Partial<Plan>, changes: readonly Seen[] = []) =>
    breaches([...changes, accepted('a', 10), started('a', at)], {
      plan: { keys: [pace(4)], ...plan },
      struck,
    })
  expect(late(55, {})).toEqual([])
  expect(late(57, {})).toHaveLength(1)
  // A fourth of the rate.
  const slower: Partial<Plan> = { actions: [{ do: 'limit', at: 5_000, ...pace(1) }] }
  const limit = parseLimit('10, 1 per 40s')
  const change = { by: 'operator', event: { type: 'limit', at: 5 * SECOND, key: 'k', limit } } as const
  expect(late(175, slower, [change])).toEqual([])
  expect(late(177, slower, [change])).toHaveLength(1)
})
