import { randomBytes } from 'node:crypto'
import { UnknownUnitError } from '../../core/errors.ts'
import type { Costs } from '../../core/usage.ts'
import { flag, list, oneOf, rest, text } from '../scripts/reply.ts'
import { defineScript } from '../scripts/script.ts'
import type { Store } from '../scripts/store.ts'
import { costsText } from './settings-text.ts'

const reply = list(oneOf({ ok: { isSettled: flag }, unit: { unit: text, key: text, units: rest(text) } }))
const script = defineScript('settle', import.meta.url, reply)

export interface SettleRequest {
  readonly id: string
  /** The key of the job. */
  readonly key: string
  /** Names the attempt. */
  readonly fence: number
  /** When its handler started, if that may not be reported yet. */
  readonly startedAt?: number
  /** Of a turn that has ended, and holds no place: what it was charged for. */
  readonly ended?: { readonly cost: number; readonly costs?: Costs | undefined }
  /** What it really took, by unit: whole numbers from 0 on. */
  readonly amounts: Readonly<Record<string, number>>
}

/**
 * running -> running: counts what the attempt really took. False: it was settled before, or does not run any more.
 *
 * @throws UnknownUnitError
 */
export function settleVerb(store: Store) {
  return async (request: SettleRequest, now?: number): Promise<boolean> => {
    const { id, key, fence, startedAt, ended, amounts } = request
    const operation = randomBytes(12).toString('base64url')
    const units = Object.entries(amounts)
    const charged = ended === undefined ? ['', ''] : [ended.cost, costsText(ended.costs)]
    const values = [operation, id, key, fence, startedAt ?? '', ...charged, units.length, ...units.flat()]
    const found = await store.write(script, store.shardOf(key), values, now)
    if (found.kind === 'unit') throw new UnknownUnitError(found.key, found.unit, found.units)
    return found.isSettled
  }
}
