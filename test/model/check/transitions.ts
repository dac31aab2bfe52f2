import { faults } from '../actors/faults.ts'
import { network } from '../actors/network.ts'
import { producers } from '../actors/producers.ts'
import { schedulers } from '../actors/schedulers.ts'
import type { Transition } from '../actors/transition.ts'
import { workers } from '../actors/workers.ts'

/** All that can happen. */
export const TRANSITIONS: readonly Transition[] = [
  ...producers,
  ...schedulers,
  ...workers,
  ...network,
  ...faults,
]
