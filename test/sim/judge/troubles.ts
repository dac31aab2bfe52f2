import type { Silence, Struck } from '../actors/faults.ts'
import { limitsOf, type Plan, slowestOf } from '../plan/plan.ts'
import { leaseOf, RESTART_GRACE, restsIn } from './excuses.ts'

/** A process of the run that plays a part, from its begin until it was killed or closed; microseconds. */
export interface Life {
  readonly name: string
  readonly from: number
  readonly until: number
}

/** Microseconds. */
export interface Span {
  readonly from: number
  readonly until: number
}

/** Something that may keep jobs from starting. Microseconds. */
export interface Trouble {
  readonly from: number
  readonly until: number
  /** Starts go on so long after it, at the latest. */
  readonly bound: number
  /** Every wait that it meets takes so much longer. */
  readonly adds: number
  readonly what: string
  /** It keeps jobs of this key alone from starting. */
  readonly key?: string
  /** Its bound has what outages add. */
  readonly isLifted?: boolean
}

/** What the times at which starts go on depend on. */
export interface Circumstances {
  readonly plan: Plan
  readonly silences: readonly Silence[]
  readonly struck: readonly Struck[]
  readonly lives: readonly Life[]
  /** When it was not known whether an operation had been carried out; microseconds. */
  readonly unsure: readonly { readonly from: number; readonly until: number }[]
}

const SECOND = 1_000_000
/** Those that take part from the admission of a job to its end. */
const HOLDS_JOBS = /^(?:worker|scheduler|caller)-/
/** A handover has this lease until a worker takes it up; milliseconds. */
const HANDOVER_LEASE = 2_000
/** From the end of a lease until its job is in its line again and starts: leases are looked at every two seconds. Milliseconds. */
const RECOVERS = 3_500
/** Starts go on so long after Redis, or the network, is back, by the contract; microseconds. */
const AFTER_OUTAGE = 5 * SECOND
/** After a restart buckets wait so long for slots that may be lost; microseconds. */
const LOST_SLOTS = 0.5 * SECOND
/** Starts go on so long after a scheduler was killed, by the contract; microseconds. */
const AFTER_SCHEDULER = 2 * SECOND
/** A process that begins works after that, beside the ways of calls; microseconds. */
const BEGINS = 0.5 * SECOND
/** A worker that closes waits so long for what was delivered to it; microseconds. */
const CLOSES = 5 * SECOND
/** Schedulers that have nothing to do call the store so often; milliseconds. */
const CALLS_EACH = 1_500
/** After an outage a process is heard again by then: the longest pause between two attempts to connect, and to connect. Milliseconds. */
const HEARD_AGAIN = 1_500

/** All that kept jobs from starting in a run, by their begins. */
export function troublesOf(known: Circumstances): Trouble[] {
  const { plan, silences, struck, lives, unsure } = known
  const unscheduled = missing(
    known,
    'scheduler',
    lives.filter(({ name }) => isScheduler(plan, name)),
  )
  return [
    ...silences.filter(isFelt).map((silence) => {
      const own = ofSilence(known, silence)
      return silence.isDeath
        ? lengthened(own, silence, known, unscheduled)
        : outlasting(own, silence, plan, unscheduled)
    }),
    ...lives.flatMap(({ name, until }) => closedUnheard(known, name, until)),
    ...restsIn(struck).flatMap(({ process, at }) => closedUnheard(known, process, at)),
    ...struck.flatMap((one) => ofFault(plan, one)),
    ...missing(
      known,
      'worker',
      lives.filter(({ name }) => name.startsWith('worker')),
    ),
    ...unscheduled,
    ...unsure.map(({ from, until }) => trouble(from, until, 3 * SECOND, 'an answer is missing')),
  ].sort((a, b) => a.from - b.from)
}

/** Whether a silence can keep jobs from starting. What all processes share is one outage, and adds once to what waits. */
function isFelt(silence: Silence, index: number, silences: readonly Silence[]): boolean {
  if (silence.cause !== 'everything') return HOLDS_JOBS.test(silence.process)
  const isSame = ({ cause, from, until, isRestart }: Silence) =>
    cause === 'everything' &&
    from === silence.from &&
    until === silence.until &&
    isRestart === silence.isRestart
  return silences.findIndex(isSame) === index
}

/**
 * The leases of a dead worker last longer by a time without a scheduler, since time passes for them only while the store is called,
 * and by what an outage adds to all leases.
 */
function lengthened(
  death: Trouble,
  { process }: Silence,
  { plan, silences, struck }: Circumstances,
  unscheduled: readonly Trouble[],
): Trouble {
  if (!process.startsWith('worker')) return death
  let { bound } = death
  for (const gap of unscheduled) {
    if (gap.until < death.from || gap.from > death.until + bound || gap.until === Number.POSITIVE_INFINITY)
      continue
    bound += gap.until - Math.max(gap.from, death.from)
  }
  // All processes were silent then; or none lived, and Redis was restarted.
  const restarts = struck.filter(({ fault }) => fault.kind === 'restart')
  const outages = new Map<number, Parameters<typeof liftOf>[0]>([
    ...restarts.map(({ from, until }) => [from, { from, until, isRestart: true }] as const),
    ...silences.flatMap((one) => (one.cause === 'everything' ? [[one.from, one] as const] : [])),
  ])
  // One may have been before the death: what it added counts until the next renewal, after a third of the lease.
  const renewedAt = death.from - ((leaseOf(plan, process) ?? 0) / 3) * 1_000
  for (const outage of outages.values()) {
    if (outage.until >= renewedAt && outage.from <= death.until + bound) bound += liftOf(outage)
  }
  return { ...death, bound, isLifted: true }
}

/**
 * A worker that is silent for longer than its leases may not have heard that it was granted a slot, and does not ask again. Then that
 * job waits as after its death, and longer by a time without a scheduler. It renews its leases after a third of them.
 */
function outlasting(
  silent: Trouble,
  { process, from, until, cause }: Silence,
  plan: Plan,
  unscheduled: readonly Trouble[],
): Trouble {
  const lease = leaseOf(plan, process)
  if (cause === 'everything' || lease === undefined || until - from < ((lease * 2) / 3) * 1_000) return silent
  let over = from + recoveryOf(plan, process)
  for (const gap of unscheduled) {
    if (gap.until >= from && gap.from <= over && gap.until !== Number.POSITIVE_INFINITY)
      over += gap.until - gap.from
  }
  return { ...silent, bound: Math.max(silent.bound, over - silent.until) }
}

function trouble(from: number, until: number, bound: number, what: string, adds = 0): Trouble {
  return { from, until, bound, what, adds }
}

/** How long a job waits that a process held which died: its lease, as drawn by the plan, and until it is found. Microseconds. */
export function recoveryOf(plan: Plan, name: string): number {
  const lease = Math.max(HANDOVER_LEASE, leaseOf(plan, name) ?? 0)
  // With leases of up to ten seconds that is within the twenty of the contract; a plan may draw longer ones.
  return (lease + RECOVERS) * 1_000
}

/** By how much leases last longer: from the last call before an outage to the first one after, and by a grace. Microseconds. */
function liftOf({ from, until, isRestart }: Pick<Silence, 'from' | 'until' | 'isRestart'>): number {
  return until - from + (CALLS_EACH + HEARD_AGAIN + (isRestart === true ? RESTART_GRACE : 0)) * 1_000
}

/** A process that closes while it is not heard can give nothing back: what it held waits for its lease, as after its death. */
function closedUnheard({ plan, silences, struck }: Circumstances, name: string, until: number): Trouble[] {
  const own = silences.filter(({ process }) => process === name)
  const isUnheard = own.some((silence) => {
    return silence.from <= until + CLOSES && until <= silence.until + HEARD_AGAIN * 1_000
  })
  if (!isUnheard || own.some(({ isDeath }) => isDeath) || leaseOf(plan, name) === undefined) return []
  const lifted = own.reduce((sum, silence) => sum + (silence.cause === 'everything' ? liftOf(silence) : 0), 0)
  return [
    {
      ...trouble(
        until,
        arrivedBy(name, until, struck),
        recoveryOf(plan, name) + lifted,
        `${name} closed unheard`,
      ),
      isLifted: true,
    },
  ]
}

/**
 * When the last that a process had written by then has arrived. A link that is held brings it when it is released, whether the process
 * lives or not: a renewal, or a call for a slot, and the lease runs from then.
 */
function arrivedBy(process: string, at: number, struck: readonly Struck[]): number {
  let arrived = at
  for (const { fault, process: name, from, until } of struck.toSorted((a, b) => a.from - b.from)) {
    if (fault.kind !== 'hold' || fault.direction === 'back') continue
    if ((name === process || fault.part === 'all') && from <= arrived) arrived = Math.max(arrived, until)
  }
  return arrived
}

function ofSilence({ plan, struck }: Circumstances, silence: Silence): Trouble {
  const { process, from, isDeath, cause, isRestart } = silence
  const until = isDeath ? arrivedBy(process, silence.until, struck) : silence.until
  if (cause === 'everything') {
    return trouble(from, until, AFTER_OUTAGE, 'outage', liftOf({ from, until, isRestart }))
  }
  if (isDeath) {
    if (process.startsWith('scheduler')) {
      // What it had claimed and not handed over waits for the end of that lease.
      const claimed = (HANDOVER_LEASE + RECOVERS) * 1_000
      return trouble(from, until, Math.max(AFTER_SCHEDULER, claimed), 'scheduler killed')
    }
    return trouble(from, until, recoveryOf(plan, process), `${process} killed`)
  }
  // Others go on without it when its leases are over.
  const over = Math.min(until, from + recoveryOf(plan, process))
  return trouble(from, over, AFTER_OUTAGE, `${process} silent`)
}

function ofFault(plan: Plan, { fault, process, from, until }: Struck): Trouble[] {
  switch (fault.kind) {
    case 'close':
      return HOLDS_JOBS.test(fault.part) ? [trouble(from, until, CLOSES, `${fault.part} closed`)] : []
    case 'rest':
      return [trouble(from, until, CLOSES, `the worker of ${fault.part} closed`)]
    case 'slow':
      if (process !== undefined && !HOLDS_JOBS.test(process)) return []
      return [trouble(from, until, AFTER_OUTAGE, 'slow link')]
    case 'restart':
      return [trouble(from, until, AFTER_OUTAGE + LOST_SLOTS + quarantineOf(plan), 'restart')]
    case 'step':
      return [trouble(from, until, AFTER_OUTAGE + quarantineOf(plan), 'clock set')]
    default:
      return []
  }
}

/** How long a bucket waits after a restart or a step of the clock, by the slowest limit that it has in the run; microseconds. */
function quarantineOf(plan: Plan): number {
  const { keys, totals = [], jobs, turns } = plan
  const costliest = Math.max(1, ...[...jobs, ...turns].map(({ cost }) => cost))
  const limits = [...keys, ...totals].flatMap((key) => limitsOf(plan, key))
  return Math.max(...limits.map(slowestOf)) * costliest * 2 * 1_000
}

function isScheduler({ workers }: Plan, name: string): boolean {
  const [, role, number] = /^(\w+)-(\d+)/.exec(name) ?? []
  return role === 'scheduler' || (role === 'worker' && workers[Number(number) - 1]!.scheduler)
}

/** When no process of a kind could work, because each was away, or not heard of. */
function missing({ silences }: Circumstances, what: string, lives: readonly Life[]): Trouble[] {
  const able = lives.flatMap((life) => {
    const own = silences.filter(({ process, isDeath }) => process === life.name && !isDeath)
    return without(life, own)
  })
  const gaps = gapsOf(able).map(({ from, until }) => {
    // One that begins has nothing to find again.
    const isBegin = until === Number.POSITIVE_INFINITY || lives.some((life) => life.from === until)
    return trouble(from, until, isBegin ? BEGINS : AFTER_OUTAGE, `no ${what}`)
  })
  // Each needs a moment before it works.
  return [...gaps, ...lives.map(({ from }) => trouble(from, from, BEGINS, `a ${what} begins`))]
}

/** When there is none of these. */
export function gapsOf(spans: readonly Span[]): Span[] {
  const gaps: Span[] = []
  let until = 0
  for (const span of spans.toSorted((a, b) => a.from - b.from)) {
    if (span.from > until || until === 0) gaps.push({ from: until, until: span.from })
    until = Math.max(until, span.until)
  }
  return until === Number.POSITIVE_INFINITY
    ? gaps
    : [...gaps, { from: until, until: Number.POSITIVE_INFINITY }]
}

/** What is left of a life without these. */
export function without(life: Life, holes: readonly Span[]): Span[] {
  const spans = []
  let { from } = life
  for (const hole of holes.toSorted((a, b) => a.from - b.from)) {
    if (hole.from > from) spans.push({ from, until: Math.min(hole.from, life.until) })
    from = Math.max(from, hole.until)
  }
  if (from < life.until) spans.push({ from, until: life.until })
  return spans.filter((span) => span.until > span.from)
}
