import { VirtualClock } from '../../src/core/virtual-clock.ts'
import { MemoryMeterStore } from '../../src/meter/memory-meter-store.ts'
import type { MeterStore } from '../../src/meter/meter-store.ts'
import { openPgliteMeterStore, openPostgresMeterStore } from './postgres-meter-drivers.ts'
import { openRedisMeterStore } from './redis-meter-stores.ts'

/** A store that keeps nothing yet; the suite closes it. Its verbs are given `now`, except where real time is the subject. */
export type OpenMeterStore = () => Promise<MeterStore>

/** Every store of meters; whatever one of them can do, all of them can. */
export const METER_STORES: readonly (readonly [name: string, open: OpenMeterStore])[] = [
  ['memory', async () => new MemoryMeterStore(new VirtualClock())],
  ['redis', () => openRedisMeterStore()],
  ['postgres', openPostgresMeterStore],
  ['pglite', openPgliteMeterStore],
]
