import { growth } from './growth.ts'
import { idle } from './idle.ts'
import { memory } from './memory.ts'
import type { Scenario } from './scenario.ts'
import { smoothnessManyKeys } from './smoothness-many-keys.ts'
import { smoothnessOneKey } from './smoothness-one-key.ts'
import { throughput } from './throughput.ts'

export const SCENARIOS: readonly Scenario[] = [
  smoothnessOneKey,
  smoothnessManyKeys,
  throughput,
  memory,
  growth,
  idle,
]
