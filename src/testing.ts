/** For tests of code that uses velvet-rope: virtual time, a record of what happened, and the laws to hold it against. */

export {
  type Breach,
  type CheckOptions,
  checkHistory,
  type HistoryEvent,
  type Law,
} from './conformance/conformance.ts'
export type { Clock } from './core/clock.ts'
export { VirtualClock } from './core/virtual-clock.ts'
export { type Recording, recordHistory } from './testing/record-history.ts'
