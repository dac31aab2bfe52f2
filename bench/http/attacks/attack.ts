import { manyValues } from './many-values.ts'
import { pipelinedReads } from './pipelined-reads.ts'
import { streams } from './streams.ts'
import { unknownFields } from './unknown-fields.ts'
import { watchedKeys } from './watched-keys.ts'

/** Where an attack goes. */
export interface Target {
  readonly url: string
  readonly host: string
  readonly port: number
  /** Of the attacker: `enqueue` and `read` below `attacker`, 600 requests at once and then 100 a second. */
  readonly token: string
}

/** What one client does within its limits, to the harm of others. It runs in a process of its own until that is ended. */
export interface Attack {
  readonly name: string
  readonly what: string
  run(target: Target): Promise<void>
  /** What another token can no longer do while it succeeds, beside its steady requests; resolves whether it could. */
  probe?(target: Target): Promise<boolean>
}

export const ATTACKS: readonly Attack[] = [pipelinedReads, unknownFields, manyValues, streams, watchedKeys]

export function attackNamed(name: string): Attack {
  const attack = ATTACKS.find((one) => one.name === name)
  if (attack !== undefined) return attack
  throw new Error(`expected one of ${ATTACKS.map((one) => one.name).join(', ')}, got: ${name}`)
}
