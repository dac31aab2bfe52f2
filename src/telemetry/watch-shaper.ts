import {
  type Departure,
  departures,
  handlerEnds,
  handoffs,
  lateStarts,
  leaderships,
  meterFillings,
  redisErrors,
  schedulerPasses,
  scriptRuns,
} from '../core/diagnostics.ts'
import { SECOND } from '../core/duration.ts'
import type { ShaperEvents } from '../core/events.ts'
import type { Shaper } from '../shaper/shaper.ts'
import type { Instruments } from './instruments.ts'
import { type PatternLabels, patternOf, patternOfTotal } from './pattern-labels.ts'

/** The label of keys without a rule, and of totals. */
const GONE = 'none'

/** Counts the events and internal events of a shaper. Returns a function that stops it; safe to call twice. */
export function watchShaper(
  shaper: Shaper,
  to: Instruments,
  labels: PatternLabels,
  totals: PatternLabels,
): () => void {
  const isOurs = (message: { readonly shaper: string }) => message.shaper === shaper.name
  const running = new Set<string>()
  const led = new Set<number>()
  // In memory the one scheduler is always the leader.
  const leader = { shaper: shaper.name }
  to.leader.set(leader, shaper.backend === 'memory' ? 1 : 0)
  to.inflight.set(0)

  const onAdmitted = ({ key }: ShaperEvents['admitted'][0]) => {
    to.admissions.inc({ pattern: labels.of(patternOf(shaper, key) ?? GONE), outcome: 'accepted' })
  }
  const onRejected = ({ key, reason, total }: ShaperEvents['rejected'][0]) => {
    to.admissions.inc({ pattern: labels.of(patternOf(shaper, key) ?? GONE), outcome: reason })
    if (total === undefined) return
    const pattern = totals.of(patternOfTotal(shaper, key, total) ?? GONE)
    to.familyRefusals.inc({ pattern, outcome: reason })
  }
  shaper.on('admitted', onAdmitted).on('rejected', onRejected)

  const stops = [
    departures.subscribe((departure) => {
      if (!isOurs(departure)) return
      countDeparture(departure, labels.of(departure.pattern), to)
      running.add(attemptName(departure))
      to.inflight.set(running.size)
    }),
    handlerEnds.subscribe((end) => {
      if (!isOurs(end)) return
      to.handlerDuration.observe({ outcome: end.outcome }, seconds(end.duration))
      // A handler that started before the watch began was not counted.
      if (running.delete(attemptName(end))) to.inflight.set(running.size)
    }),
    lateStarts.subscribe((late) => {
      if (isOurs(late)) to.lateStarts.inc()
    }),
    scriptRuns.subscribe((run) => {
      if (isOurs(run)) to.script.observe({ script: run.verb }, seconds(run.duration))
    }),
    redisErrors.subscribe((error) => {
      if (isOurs(error)) to.redisErrors.inc({ kind: error.kind })
    }),
    handoffs.subscribe((handed) => {
      if (isOurs(handed)) to.handoffs.inc({ outcome: handed.outcome }, handed.jobs)
    }),
    schedulerPasses.subscribe((pass) => {
      if (isOurs(pass)) to.pass.observe(seconds(pass.duration))
    }),
    // The meter with the name of a shaper uses its rule book.
    meterFillings.subscribe(({ meter, pattern, outcome }) => {
      if (meter === shaper.name) to.meterFills.inc({ pattern: labels.of(pattern), outcome })
    }),
    leaderships.subscribe((leadership) => {
      if (!isOurs(leadership)) return
      if (leadership.isLeader) led.add(leadership.shard)
      else led.delete(leadership.shard)
      to.leader.set(leader, led.size)
    }),
  ]
  return () => {
    shaper.off('admitted', onAdmitted).off('rejected', onRejected)
    for (const stop of stops.splice(0)) stop()
  }
}

function countDeparture(departure: Departure, pattern: string, to: Instruments): void {
  const { attempt, admittedAt, slot, startedAt } = departure
  to.departures.inc({ pattern })
  to.lag.observe({ pattern }, seconds(startedAt - slot))
  if (attempt === 1) to.wait.observe({ pattern }, seconds(startedAt - admittedAt))
  const ratio = gapRatio(departure)
  if (ratio !== undefined) to.gapRatio.observe({ pattern }, ratio)
}

/**
 * Undefined if the gap says nothing about the pacing: no job was waiting when the previous slot allowed the next, or it
 * was waiting for something else. A gap that is too short is always counted.
 */
function gapRatio({ attempt, admittedAt, startedAt, lastStart, spacing }: Departure): number | undefined {
  const ratio = (startedAt - lastStart) / spacing
  if (!Number.isFinite(ratio)) return undefined
  const wasWaitedFor = attempt === 1 && admittedAt <= lastStart + spacing
  return wasWaitedFor || ratio < 1 ? ratio : undefined
}

function attemptName({ id, attempt }: { readonly id: string; readonly attempt: number }): string {
  return `${id} ${attempt}`
}

/** The clocks of two processes may differ slightly. */
function seconds(duration: number): number {
  return Math.max(0, duration) / SECOND
}
