import { BLOCKING_LISTS } from './blocking-lists.ts'
import type { Command } from './command.ts'
import { HASHES } from './hashes.ts'
import { KEYS } from './keys.ts'
import { LISTS } from './lists.ts'
import { SETS } from './sets.ts'
import { SORTED_SET_RANGES } from './sorted-set-ranges.ts'
import { SORTED_SETS } from './sorted-sets.ts'
import { STREAMS } from './streams.ts'
import { STRINGS } from './strings.ts'
import { VARIOUS } from './various.ts'

const LISTED: readonly Command[] = [
  ...STRINGS,
  ...KEYS,
  ...HASHES,
  ...SETS,
  ...LISTS,
  ...BLOCKING_LISTS,
  ...SORTED_SETS,
  ...SORTED_SET_RANGES,
  ...STREAMS,
  ...VARIOUS,
]

/** The commands on data, by their names in small letters. */
export const COMMANDS: ReadonlyMap<string, Command> = new Map(
  LISTED.map((command) => [command.name, command]),
)
