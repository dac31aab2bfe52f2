import { clocks } from '../actors/clocks.ts'
import { network } from '../actors/network.ts'
import { processFaults } from '../actors/process-faults.ts'
import { producers } from '../actors/producers.ts'
import { schedulers } from '../actors/schedulers.ts'
import { settlements } from '../actors/settlements.ts'
import { storeFaults } from '../actors/store-faults.ts'
import type { Transition } from '../actors/transition.ts'
import { workers } from '../actors/workers.ts'

/** All that can happen. */
export const TRANSITIONS: readonly Transition[] = [
  ...producers,
  ...schedulers,
  ...workers,
  ...settlements,
  ...network,
  ...processFaults,
  ...storeFaults,
  ...clocks,
]
