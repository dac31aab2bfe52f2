import { type Count, type FamilyCount, HOLDING_PARTS, type PatternCount } from './count.ts'
import type { Instruments } from './instruments.ts'
import type { PatternLabels } from './pattern-labels.ts'

interface KnownLabels {
  readonly labels: PatternLabels
  readonly totalLabels: PatternLabels
}

/** Shows what lives. A known pattern of which nothing does has 0, not no value. */
export function showCount(to: Instruments, known: KnownLabels, count: Count | undefined): void {
  for (const gauge of gaugesOf(to)) gauge.reset()
  if (count === undefined) return
  for (const [state, number] of Object.entries(count.states)) to.buckets.set({ state }, number)
  for (const pattern of new Set([...known.labels.known, ...count.patterns.keys()])) {
    showBuckets(to, pattern, count.patterns.get(pattern))
  }
  for (const pattern of new Set([...known.totalLabels.known, ...count.families.keys()])) {
    showFamilies(to, pattern, count.families.get(pattern))
  }
}

function gaugesOf(to: Instruments) {
  return [
    ...[to.waiting, to.capacity, to.fillMax, to.oldestWait, to.buckets],
    ...[to.held, to.quotaMax, to.places, to.placesTaken],
    ...[to.families, to.familyWaiting, to.familyCapacity, to.familyFillMax],
    ...[to.heldFamilies, to.familyQuotaMax, to.familyPlaces, to.familyPlacesTaken],
  ]
}

function showBuckets(to: Instruments, pattern: string, of: PatternCount | undefined): void {
  to.waiting.set({ pattern }, of?.waiting ?? 0)
  to.capacity.set({ pattern }, of?.capacity ?? 0)
  to.fillMax.set({ pattern }, of?.fillMax ?? 0)
  to.oldestWait.set({ pattern }, (of?.oldestWaitMs ?? 0) / 1_000)
  // Most limits have only a pace, and so no series of these.
  if (of?.parts === undefined) return
  const { quotaMax, taken, places } = of.parts
  for (const part of HOLDING_PARTS) to.held.set({ pattern, part }, of.held[part])
  to.quotaMax.set({ pattern }, quotaMax)
  if (places === 0) return
  to.places.set({ pattern }, places)
  to.placesTaken.set({ pattern }, taken)
}

function showFamilies(to: Instruments, pattern: string, of: FamilyCount | undefined): void {
  to.families.set({ pattern }, of?.families ?? 0)
  to.familyWaiting.set({ pattern }, of?.waiting ?? 0)
  to.familyCapacity.set({ pattern }, of?.capacity ?? 0)
  to.familyFillMax.set({ pattern }, of?.fillMax ?? 0)
  for (const part of HOLDING_PARTS) to.heldFamilies.set({ pattern, part }, of?.held[part] ?? 0)
  if (of?.parts === undefined) return
  to.familyQuotaMax.set({ pattern }, of.parts.quotaMax)
  if (of.parts.places === 0) return
  to.familyPlaces.set({ pattern }, of.parts.places)
  to.familyPlacesTaken.set({ pattern }, of.parts.taken)
}
