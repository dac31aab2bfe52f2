import { expect } from 'vitest'
import { checkHistory } from '../../src/conformance/conformance.ts'
import type { CheckOptions, HistoryEvent, Law } from '../../src/conformance/history.ts'
import { inOrder } from './history.ts'

/** Returns what finds the jobs with which the law is broken, of a history that goes on and breaks no other. */
export function breakersOf(law: Law) {
  return (history: HistoryEvent[], options: CheckOptions = {}) => {
    const breaches = checkHistory(inOrder(history), { unfinished: true, ...options })
    expect(breaches.filter((breach) => breach.law !== law)).toEqual([])
    return breaches.map(({ id }) => id)
  }
}
