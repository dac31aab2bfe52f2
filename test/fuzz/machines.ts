import type { Machine } from './machine.ts'
import { againstCore } from './machines/against-core.ts'
import { books } from './machines/books.ts'
import { bytes } from './machines/bytes.ts'
import { configurations } from './machines/config.ts'
import { configLimits } from './machines/config-limits.ts'
import { differential } from './machines/differential.ts'
import { answers, bigNumbers } from './machines/fields.ts'
import { foreignValues } from './machines/foreign.ts'
import { hostileCalls } from './machines/hostile-calls.ts'
import { limitBodies } from './machines/limit-bodies.ts'
import { limitFields } from './machines/limit-fields.ts'
import { limitReadings } from './machines/limit-readings.ts'
import { limitSets } from './machines/limit-sets.ts'
import { durations, limits } from './machines/limits.ts'
import { neighbours } from './machines/neighbours.ts'
import { newShapers } from './machines/new-shapers.ts'
import { options, ownNames } from './machines/options.ts'
import { dataOfJobs, delivery } from './machines/payloads.ts'
import { queries } from './machines/queries.ts'
import { requests } from './machines/requests.ts'
import { scriptArguments } from './machines/scripts.ts'

export const MACHINES: readonly Machine[] = [
  limits,
  limitSets,
  limitReadings,
  limitFields,
  limitBodies,
  durations,
  books,
  answers,
  bigNumbers,
  newShapers,
  hostileCalls,
  options,
  ownNames,
  dataOfJobs,
  delivery,
  configurations,
  configLimits,
  queries,
  requests,
  bytes,
  scriptArguments,
  foreignValues,
  neighbours,
  differential,
  againstCore,
]
