import { meterAccuracy } from './accuracy.ts'
import { meterCommands } from './commands.ts'
import { meterSharedAccuracy } from './shared-accuracy.ts'
import { meterMemory, meterPostgres, meterRedis } from './speed.ts'

export const METER_SCENARIOS = [
  meterMemory,
  meterRedis,
  meterPostgres,
  meterCommands,
  meterAccuracy,
  meterSharedAccuracy,
] as const
