import { VirtualClock } from '../../src/core/virtual-clock.ts'
import { MemoryMeterStore } from '../../src/meter/memory-meter-store.ts'
import type { MeterStore } from '../../src/meter/meter-store.ts'
import type { PostgresMeterStore } from '../../src/meter/postgres-meter-store.ts'
import { openPgliteMeterStore, openPostgresMeterStore, pruneAsOf } from './postgres-meter-drivers.ts'
import { openPassingRedisMeterStore } from './redis-meter-stores.ts'

export interface OpenedMeterStore {
  readonly store: MeterStore
  /** Lets so much time go by, after which it is `now`: of what was kept before, all that the store drops by itself is dropped. */
  readonly pass: (now: number, after: number) => Promise<void>
}

/** A store that keeps nothing yet; the suite closes it. Its verbs are given `now`, except where real time is the subject. */
export type OpenMeterStore = () => Promise<OpenedMeterStore>

/** Every store of meters; whatever one of them can do, all of them can. */
export const METER_STORES: readonly (readonly [name: string, open: OpenMeterStore])[] = [
  ['memory', openMemory],
  ['redis', openPassingRedisMeterStore],
  ['postgres', () => withPruning(openPostgresMeterStore)],
  ['pglite', () => withPruning(openPgliteMeterStore)],
]

/** Those that count quotas, too. */
export const QUOTA_METER_STORES: readonly (readonly [name: string, open: OpenMeterStore])[] = [
  ['memory', openMemory],
  ['redis', openPassingRedisMeterStore],
  ['postgres', () => withPruning(() => openPostgresMeterStore(true))],
  ['pglite', () => withPruning(() => openPgliteMeterStore(true))],
]

async function openMemory(): Promise<OpenedMeterStore> {
  const clock = new VirtualClock()
  const pass = (now: number) => clock.advance(Math.max(0, now - clock.now()))
  return { store: new MemoryMeterStore(clock), pass }
}

async function withPruning(open: () => Promise<PostgresMeterStore>): Promise<OpenedMeterStore> {
  const store = await open()
  return { store, pass: (now) => pruneAsOf(store, now) }
}
