import { MILLISECOND } from '../core/duration.ts'
import { type ChangedRules, differenceOf } from '../core/layered-book.ts'
import type { Emitter } from './emitter.ts'

/** Tells listeners of each rule whose effect changed. */
export function tellRules<Result>(emitter: Emitter<Result>, changed: ChangedRules): void {
  if (!changed.isChanged || !emitter.hears('limit')) return
  const at = changed.at / MILLISECOND
  const { set, unset } = differenceOf(changed)
  for (const { pattern, limit } of set) emitter.emit('limit', { pattern, limit, at })
  for (const pattern of unset) emitter.emit('limit', { pattern, limit: undefined, at })
}
