import { deepLine } from './deep-line.ts'
import { endlessKeys } from './endless-keys.ts'
import { forgottenIds } from './forgotten-ids.ts'
import { manyValues } from './many-values.ts'
import { pipelinedReads } from './pipelined-reads.ts'
import type { ServiceSetting } from './service.ts'
import { slowUrls } from './slow-urls.ts'
import { streams } from './streams.ts'
import type { ThirdParty } from './third-party.ts'
import { unknownFields } from './unknown-fields.ts'
import { watchedKeys } from './watched-keys.ts'

/** Where an attack goes. */
export interface Target {
  readonly url: string
  readonly host: string
  readonly port: number
  /** Of the attacker: `enqueue` and `read` below `attacker`, 600 requests at once and then 100 a second. */
  readonly token: string
  /** Of the server that jobs may call. */
  readonly thirdParty: string
}

/** What one client does within its limits, to the harm of others. It runs in a process of its own until that is ended. */
export interface Attack {
  readonly name: string
  readonly what: string
  /** Of the old space, where `--heap` says nothing. */
  readonly heapMb?: number
  /** What the service must be for it. */
  setting?(thirdParty: string): ServiceSetting
  /** The data of the jobs of the other token. Default: 0. */
  dataOfVictim?(thirdParty: string): unknown
  /** Called before, once; `victim` goes to the same service with the token of the other client. */
  prepare?(target: Target, victim: Target): Promise<void>
  run(target: Target): Promise<void>
  /** What another token experiences beside its steady requests while it succeeds, in words. */
  probe?(victim: Target, thirdParty: ThirdParty): Promise<string>
}

export const ATTACKS: readonly Attack[] = [
  pipelinedReads,
  unknownFields,
  manyValues,
  streams,
  watchedKeys,
  endlessKeys,
  slowUrls,
  forgottenIds,
  deepLine,
]

export function attackNamed(name: string): Attack {
  const attack = ATTACKS.find((one) => one.name === name)
  if (attack !== undefined) return attack
  throw new Error(`expected one of ${ATTACKS.map((one) => one.name).join(', ')}, got: ${name}`)
}
