import type { Emitter } from './emitter.ts'
import type { Engine } from './engine.ts'
import { MemoryEngine } from './memory-engine.ts'
import type { ShaperSettings } from './options.ts'
import { RedisEngine } from './redis-engine.ts'

/** Chooses the line: one that is shared through a connection, or that of this process's memory. */
export function openEngine<Data, Result>(
  name: string,
  settings: ShaperSettings,
  emitter: Emitter<Result>,
): Engine<Data, Result> {
  if (settings.connection === undefined) return new MemoryEngine(name, settings, emitter)
  return new RedisEngine(name, settings, emitter)
}
