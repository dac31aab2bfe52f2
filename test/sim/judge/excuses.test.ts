import { expect, test } from 'vitest'
import type { HistoryEvent } from '../../../src/testing.ts'
import type { Silence } from '../actors/faults.ts'
import type { Seen } from '../actors/recorder.ts'
import { type Closing, excuses } from './excuses.ts'
import { lostReturns, withLost } from './lost-returns.ts'
import { accepted, aPlan, SECOND } from './planted.ts'

const LEASE = 3_000

const plan = aPlan({ workers: [{ at: 0, concurrency: 100, lease: LEASE, scheduler: true }] })

function cut(from: number, until: number, facts: Partial<Silence> = {}): Silence {
  return {
    process: 'worker-1',
    from: from * SECOND,
    until: until * SECOND,
    isDeath: false,
    cause: 'its link',
    breaks: false,
    ...facts,
  }
}

function ran(id: string, from: number, until?: number, by = 'worker-1'): Seen[] {
  const start = { type: 'start', at: from * SECOND, id, key: 'k', cost: 1, attempt: 1 } as const
  if (until === undefined) return [{ by, event: start }]
  return [
    { by, event: start },
    { by, event: { type: 'end', at: until * SECOND, id, outcome: 'completed' } },
  ]
}

function excused(silences: readonly Silence[], seen: readonly Seen[], closings: readonly Closing[] = []) {
  const events: HistoryEvent[] = excuses(plan, silences, seen, closings)
  return events.flatMap((event) => (event.type === 'fault' ? [event.id] : []))
}

test('a short cut excuses no second start, also of a worker with a short lease', () => {
  expect(excused([cut(5, 5.005)], ran('j', 4.9, 9))).toEqual([])
  expect(excused([cut(5, 5.005, { breaks: true })], ran('j', 4.9, 9))).toEqual([])
  expect(excused([cut(5, 6.2)], ran('j', 4.9, 9))).toEqual([])
})

test('many short cuts far apart excuse no second start', () => {
  const cuts = Array.from({ length: 8 }, (_, n) => cut(5 + 1.5 * n, 5.005 + 1.5 * n))
  expect(excused(cuts, ran('j', 4.9, 30))).toEqual([])
})

test('a cut for longer than a lease excuses what ran until its lease can have ended', () => {
  const silence = cut(5, 9)
  expect(excused([silence], ran('j', 4, 20))).toEqual(['j'])
  expect(excused([silence], ran('j', 4))).toEqual(['j'])
})

test('a cut excuses no job that ended before its lease could, or that started too late to lose it', () => {
  expect(excused([cut(5, 9)], ran('j', 4, 6))).toEqual([])
  expect(excused([cut(5, 9)], ran('j', 14, 20))).toEqual([])
})

test('a cut excuses earlier where the clock of Redis was set forward in the last lease, but not before that is confirmed', () => {
  const stepped = (at: number, by: number) => {
    const step = { kind: 'step', at: at * 1_000, by, until: at * 1_000 } as const
    return excuses({ ...plan, faults: [step] }, [cut(5, 6.2)], ran('j', 2, 20), []).flatMap((event) => {
      return event.type === 'fault' ? [event.at / SECOND] : []
    })
  }
  // A lease has two seconds left when it cannot be renewed any more.
  expect(stepped(1, 86_400_000)).toEqual([])
  expect(stepped(7, 86_400_000)).toEqual([])
  expect(stepped(4.9, 300)).toEqual([])
  expect(stepped(5.5, 86_400_000)).toEqual([])
  // Half a second is not enough.
  expect(stepped(4.9, 86_400_000)).toEqual([])
  const [at] = stepped(4.9, 1_900)
  expect(at).toBeGreaterThanOrEqual(6.1)
  expect(at).toBeLessThanOrEqual(6.2)
  expect(stepped(4.2, 800)).toHaveLength(1)
})

test('a cut excuses no job of another process', () => {
  expect(excused([cut(5, 9)], ran('j', 4, 20, 'worker-2'))).toEqual([])
})

test('a death excuses what ran there, and nothing that had ended', () => {
  const death = cut(5, 5, { isDeath: true, cause: 'itself' })
  expect(excused([death], [...ran('j', 4), ...ran('ended', 3, 4)])).toEqual(['j'])
})

test('what a dead worker ran holds its place until its lease can have ended, if nothing kept that from being renewed', () => {
  const death = cut(5, 5, { isDeath: true, cause: 'itself' })
  const placed = (silences: readonly Silence[]) =>
    excuses(plan, silences, ran('j', 4), []).flatMap((event) => {
      return event.type === 'fault' ? [(event.leaseUntil ?? 0) / SECOND] : []
    })
  const [until] = placed([death])
  expect(until).toBeGreaterThan(6.5)
  expect(until).toBeLessThanOrEqual(5 + LEASE / 1_000)
  expect(placed([cut(4.5, 4.6), death])).toEqual([0])
})

test('a death excuses a turn that holds a place until it is released', () => {
  const callers = aPlan({ callers: 1 })
  const death = { ...cut(5, 5, { isDeath: true, cause: 'itself' }), process: 'caller-1' }
  const turn = (released: number): Seen[] => {
    const id = '~t'
    const event = { type: 'start', at: 3 * SECOND, id, key: 'k', cost: 1, attempt: 1, isHeld: true } as const
    return [
      { by: 'caller-1', event },
      { by: 'caller-1', event: { type: 'end', at: 3 * SECOND, id, outcome: 'completed' } },
      { by: 'caller-1', event: { type: 'release', at: released * SECOND, id, key: 'k' } },
    ]
  }
  const faults = (released: number) =>
    excuses(callers, [death], turn(released), []).filter(({ type }) => type === 'fault')
  expect(faults(6)).toHaveLength(1)
  expect(faults(4)).toEqual([])
})

test('a process that works and takes turns keeps each for its own lease', () => {
  const workers = [{ at: 0, concurrency: 100, lease: 9_000, scheduler: true }]
  const all = [...ran('j', 4, 30), ...ran('~t', 4, 30)]
  const faults = (isTogether: boolean, until: number) => {
    const of = aPlan({ workers, callers: 1, ...(isTogether && { isTogether }) })
    return excuses(of, [cut(5, until)], all, []).flatMap((event) =>
      event.type === 'fault' ? [event.id] : [],
    )
  }
  expect(faults(true, 9)).toEqual(['~t'])
  expect(faults(true, 16).sort()).toEqual(['j', '~t'])
  expect(faults(false, 16)).toEqual(['j'])
})

test('an outage for all excuses a worker with a long lease only where it was closed before it was over', () => {
  const safe = aPlan({ workers: [{ at: 0, concurrency: 100, lease: 6_000, scheduler: true }] })
  const outage = cut(5, 12, { cause: 'everything', breaks: true })
  const faults = (closings: readonly Closing[]) =>
    excuses(safe, [outage], ran('j', 4, 30), closings).filter(({ type }) => type === 'fault')
  expect(faults([])).toEqual([])
  expect(faults([{ process: 'worker-1', at: 20 * SECOND }])).toEqual([])
  expect(faults([{ process: 'worker-1', at: 6 * SECOND }])).toHaveLength(1)
  // Its worker closed, and another began in it, which closed later.
  expect(faults([20, 6].map((at) => ({ process: 'worker-1', at: at * SECOND })))).toHaveLength(1)
})

test('an outage for all extends no lease that had ended before it', () => {
  const outage = (from: number) => cut(from, from + 1, { cause: 'everything', breaks: true, isRestart: true })
  expect(excused([cut(5, 9), outage(8)], ran('j', 4, 20))).toEqual(['j'])
  expect(excused([cut(5, 9), outage(6)], ran('j', 4, 20))).toEqual([])
})

function cameBack(id: string, at: number, mayHaveStarted = true) {
  return { id, key: 'k', at: at * SECOND, mayHaveStarted }
}

test('an excuse lets one job lose its place, where one came back in the time of the excuse', () => {
  const crashes = (at: number) =>
    excuses(plan, [cut(5, 9)], ran('j', 4, 20), [], [cameBack('j', at)]).filter(
      (event) => event.type === 'crash' && event.handed > 0,
    )
  expect(crashes(8.5)).toMatchObject([{ handed: 1 }])
  expect(crashes(4)).toEqual([])
  expect(crashes(60)).toEqual([])
  const none = excuses(plan, [cut(5, 5.005)], ran('j', 4, 20), [], [cameBack('j', 8.5)])
  expect(none).toEqual([])
})

test('the time of an excuse is longer by outages for all, in which nothing comes back', () => {
  const death = cut(5, 5, { isDeath: true, cause: 'itself' })
  const outage = cut(5.2, 48, { process: 'producer-1', cause: 'everything', breaks: true })
  const places = (silences: readonly Silence[]) =>
    excuses(plan, silences, ran('j', 4, 20), [], [cameBack('j', 58)]).filter(
      (event) => event.type === 'crash' && event.handed > 0 && event.at > 50 * SECOND,
    )
  expect(places([death])).toEqual([])
  expect(places([death, outage])).toMatchObject([{ handed: 1 }])
})

test('the time of an excuse is longer by the grace of each restart that comes while it lasts', () => {
  const death = cut(5, 5, { isDeath: true, cause: 'itself' })
  const outage = (from: number, until: number, isRestart: boolean) =>
    cut(from, until, { process: 'producer-1', cause: 'everything', breaks: true, isRestart })
  const places = (at: number, ...outages: readonly Silence[]) =>
    excuses(plan, [death, ...outages], ran('j', 4, 20), [], [cameBack('j', at)]).filter(
      (event) => event.type === 'crash' && event.handed > 0,
    )
  const restarts = [outage(5.3, 5.4, true), outage(5.5, 5.6, true)]
  expect(places(26, ...restarts)).toMatchObject([{ handed: 1 }])
  // All processes hear of the same one.
  expect(places(26, restarts[0]!, { ...restarts[0]!, process: 'producer-2' })).toEqual([])
  expect(places(26, outage(5.3, 5.4, false), outage(5.5, 5.6, false))).toEqual([])
  // What comes when the job had to be back extends nothing.
  expect(places(35, outage(30, 48, false))).toEqual([])
})

test('a short cut in which a process closes lets a job that has its slot lose its place, and excuses no second start', () => {
  const found = (closings: readonly Closing[]) =>
    excuses(plan, [cut(5, 5.1)], ran('j', 4.9, 9), closings, [cameBack('a', 8)])
  const places = (events: readonly HistoryEvent[]) =>
    events.flatMap((event) => (event.type === 'crash' ? [event.handed] : []))
  expect(found([])).toEqual([])
  expect(places(found([{ process: 'worker-1', at: 5.05 * SECOND }]))).toEqual([0, 1])
  expect(found([{ process: 'worker-1', at: 5.05 * SECOND }]).map(({ type }) => type)).not.toContain('fault')
  expect(found([{ process: 'worker-1', at: 7 * SECOND }])).toEqual([])
})

test('jobs before it that wait for a retry do not take the excuse of the one that came back', () => {
  const accepted = (id: string, at: number): Seen => {
    const answer = { type: 'answer', at: at * SECOND, id, key: 'k', cost: 1, accepted: true } as const
    return { by: 'producer-1', event: { ...answer, departsAt: answer.at } }
  }
  const tried = (id: string, at: number): Seen[] => [
    ...ran(id, at),
    { by: 'worker-1', event: { type: 'return', at: (at + 0.1) * SECOND, id, reason: 'retry', readyAt: 0 } },
  ]
  const death = cut(5, 5, { isDeath: true, cause: 'itself' })
  const line = ['before', 'done', 'waits', 'lost', 'behind'].map((id, place) => accepted(id, place / 10))
  const seen = [...line, ...tried('before', 2), ...ran('done', 3, 4), ...tried('behind', 4)]
  const crashes = excuses(plan, [death], seen, [], [cameBack('lost', 8.5)])
  expect(crashes.filter(({ type }) => type === 'crash')).toMatchObject([{ handed: 0 }, { handed: 2 }])
})

test('of jobs that came back together, each counts those before it in their line', () => {
  const death = cut(5, 5, { isDeath: true, cause: 'itself' })
  const line = ['first', 'lost', 'behind'].map((id, place) => ran(id, place / 10)[0]!)
  const accepted = line.map(({ event }) => {
    const answer = {
      type: 'answer',
      at: event.at,
      id: (event as { id: string }).id,
      key: 'k',
      cost: 1,
    } as const
    return { by: 'producer-1', event: { ...answer, accepted: true, departsAt: event.at } } as Seen
  })
  const together = [cameBack('lost', 8.5), cameBack('first', 8.5)]
  const crashes = excuses(plan, [death], accepted, [], together)
  expect(crashes.flatMap((event) => (event.type === 'crash' ? [event.handed] : []))).toEqual([0, 2, 1])
})

test('a job before it that came back and has not started since does not take the excuse either', () => {
  const death = cut(5, 5, { isDeath: true, cause: 'itself' })
  const line = ['first', 'waits', 'lost', 'behind'].map((id, place) => accepted(id, place / 10))
  const handed = (seen: readonly Seen[], ...back: readonly ReturnType<typeof cameBack>[]) =>
    excuses(plan, [death], [...line, ...seen], [], back).flatMap((event) =>
      event.type === 'crash' ? [event.handed] : [],
    )
  expect(handed([], cameBack('first', 8), cameBack('lost', 8.5))).toEqual([0, 1, 2])
  expect(handed([], cameBack('first', 8.5), cameBack('lost', 8.5))).toEqual([0, 1, 2])
  // A job whose lease ends later may be overtaken, too.
  expect(handed([], cameBack('lost', 8.5), cameBack('first', 9))).toEqual([0, 2, 1])
  // One that has started since, and one that came back without a slot.
  expect(handed(ran('first', 8.2), cameBack('first', 8), cameBack('lost', 8.5))).toEqual([0, 1, 1])
  expect(handed([], cameBack('first', 8, false), cameBack('lost', 8.5))).toEqual([0, 1, 1])
  // Those that come back without a slot keep their order.
  expect(handed([], cameBack('first', 8), cameBack('lost', 8.5, false))).toEqual([0, 1, 1])
})

test('a job whose return to its line no process heard of does not take the excuse either', () => {
  const death = cut(5, 5, { isDeath: true, cause: 'itself' })
  const again: Seen = {
    by: 'worker-2',
    event: { type: 'start', at: 9 * SECOND, id: 'before', key: 'k', cost: 1, attempt: 2 },
  }
  const seen = [accepted('before', 0), accepted('lost', 0.1), ...ran('before', 4), again]
  const settled = [{ at: 4.5 * SECOND, id: 'before', attempt: 1, reason: 'retry' } as const]
  const lost = lostReturns(
    seen.map(({ event }) => event),
    settled,
  )
  const handed = (known: readonly Seen[]) =>
    excuses(plan, [death], known, [], [cameBack('lost', 8.5)]).flatMap((event) =>
      event.type === 'crash' ? [event.handed] : [],
    )
  expect(handed(seen)).toEqual([0, 1])
  expect(handed(withLost(seen, lost))).toEqual([0, 2])
})

test('a restart extends the leases, so a short one excuses no worker, also with a short lease', () => {
  const restart = cut(5, 6, { cause: 'everything', breaks: true, isRestart: true })
  expect(excused([restart], ran('j', 4.9, 20))).toEqual([])
  expect(excused([restart], ran('j', 4.9, 20), [{ process: 'worker-1', at: 5.5 * SECOND }])).toEqual(['j'])
})

test('a lease that was renewed after a restart lasts no longer than any: a cut soon after may end it', () => {
  const restart = cut(5, 6.1, { cause: 'everything', isRestart: true, breaks: true })
  expect(excused([restart, cut(7.2, 8)], ran('j', 4, 20))).toEqual([])
  expect(excused([restart, cut(7.2, 9.4)], ran('j', 4, 20))).toEqual(['j'])
  // Nothing can have been renewed in between.
  expect(excused([restart, cut(6, 8.4)], ran('j', 4, 20))).toEqual([])
})

test('two restarts with no call between them extend the leases once', () => {
  const restart = (from: number, until: number) =>
    cut(from, until, { cause: 'everything', breaks: true, isRestart: true })
  const silent = cut(6, 15)
  expect(excused([restart(5, 6), restart(9, 9.1), silent], ran('j', 4.9, 20))).toEqual([])
  expect(excused([restart(5, 6), restart(6.5, 6.6), silent], ran('j', 4.9, 20))).toEqual(['j'])
})

test('a slot may be granted while its worker hears no answer, and comes back when its lease has ended', () => {
  const outage = cut(5, 6, { cause: 'everything', breaks: true })
  const [, crash] = excuses(plan, [outage], ran('j', 4, 4.5), [], [cameBack('j', 9)])
  expect(crash).toMatchObject({ type: 'crash', handed: 1 })
})
