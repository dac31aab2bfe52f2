import { UnknownUnitError } from '../../core/errors.ts'
import type { Costs } from '../../core/usage.ts'
import type { WhichStart } from '../../line/settle.ts'
import { list, number, oneOf, rest, text } from '../scripts/reply.ts'
import { defineScript } from '../scripts/script.ts'
import { operationName, type Store } from '../scripts/store.ts'
import { costsText } from './settings-text.ts'

const reply = list(
  oneOf({
    ok: { at: number, key: text, cost: number, attempt: number, fence: number },
    none: {},
    unit: { unit: text, key: text, units: rest(text) },
  }),
)
const script = defineScript('settle', import.meta.url, reply)

/** What a turn was charged: the store has forgotten it. */
export interface EndedCosts {
  readonly cost: number
  /** In named units, as `finish` says. */
  readonly charged: string
  /** What it named when it was asked for: totals were charged by that. */
  readonly costs?: Costs | undefined
  /** The same amounts may have been counted before: then only what is more than the turn was charged counts. */
  readonly isAgain?: boolean
}

export interface SettleRequest {
  readonly id: string
  /** The key of the job. */
  readonly key: string
  /** Names the attempt. */
  readonly fence: number
  /** When its handler started, if that may not be reported yet. */
  readonly startedAt?: number
  /** Of a turn that has ended, and holds no place. */
  readonly ended?: EndedCosts
  /** Within ten seconds, the same operation is carried out once, however often it is asked for; absent: one of its own. */
  readonly operation?: string
  /** What it really took, by unit: whole numbers from 0 on. */
  readonly amounts: Readonly<Record<string, number>>
}

export interface SettleRunning extends Pick<SettleRequest, 'id' | 'amounts'> {
  /** A key of the first segment of the job's key. */
  readonly key?: string | undefined
  readonly which?: WhichStart
}

/** The start that was settled; `at` in microseconds. */
export interface SettledStart {
  readonly id: string
  readonly at: number
  readonly key: string
  readonly cost: number
  readonly attempt: number
  readonly fence: number
}

/**
 * running -> running: counts what the attempt really took. False: it was settled before, or does not run any more.
 *
 * @throws UnknownUnitError
 */
export function settleVerb(store: Store) {
  return async (request: SettleRequest, now?: number): Promise<boolean> =>
    (await settle(store, store.shardOf(request.key), request, now)) !== undefined
}

/**
 * The same from outside of the worker. Undefined: it was settled before, or does not run in the start that is meant. Asks all shards where no key says which it is in.
 *
 * @throws UnknownUnitError
 */
export function settleRunningVerb(store: Store) {
  return async ({ which, ...request }: SettleRunning, now?: number): Promise<SettledStart | undefined> => {
    // A turn is settled by its caller.
    if (request.id.startsWith('~')) return undefined
    const ask = (shard: number) => settle(store, shard, { ...request, ...which }, now)
    return request.key === undefined ? store.firstFound(ask) : ask(store.shardOf(request.key))
  }
}

type Asked = Partial<Pick<SettleRequest, 'startedAt' | 'ended' | 'operation'>> &
  WhichStart &
  Omit<SettleRunning, 'which'>

async function settle(
  store: Store,
  shard: number,
  asked: Asked,
  now: number | undefined,
): Promise<SettledStart | undefined> {
  const { id, key = '', fence = '', startedAt = '', ended, attempt = '', amounts } = asked
  const { operation = operationName() } = asked
  const units = Object.entries(amounts)
  const { cost = '', charged = '', costs, isAgain = false } = ended ?? {}
  const endedValues = [cost, charged, costsText(costs), isAgain ? '1' : '']
  const start = [operation, id, key, fence, startedAt, ...endedValues, attempt]
  const values = [...start, units.length, ...units.flat()]
  const found = await store.write(script, shard, values, now)
  if (found.kind === 'unit') throw new UnknownUnitError(found.key, found.unit, found.units)
  if (found.kind === 'none') return undefined
  return { id, at: found.at, key: found.key, cost: found.cost, attempt: found.attempt, fence: found.fence }
}
