/** For tests of code that uses velvet-rope: virtual time, a record of what happened, and the laws to hold it against. */

export { checkHistory } from './conformance/conformance.ts'
export type { Breach, CheckOptions, HistoryEvent, Law } from './conformance/history.ts'
export type { Clock } from './core/clock.ts'
export { VirtualClock } from './core/virtual-clock.ts'
export { type Recording, recordHistory } from './testing/record-history.ts'
