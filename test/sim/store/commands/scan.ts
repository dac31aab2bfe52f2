import { integer } from '../args.ts'
import { NO_INTEGER, refuse, SYNTAX } from '../reply.ts'
import { globTest } from './glob.ts'

/** Refuses what is no cursor, which Redis does before it looks at the key. @throws CommandError */
export function checkCursor(text: string): void {
  if (!/^\d+$/.test(text)) refuse('ERR invalid cursor')
}

/** What stands after the cursor of a scan. Each scan gives all in one page, whatever COUNT says. */
export function scanArguments(
  args: readonly string[],
  at: number,
): { readonly test: (text: string) => boolean; readonly type: string | undefined } {
  let test = (_: string) => true
  let type: string | undefined
  for (let index = at + 1; index < args.length; index += 2) {
    const word = args[index]!.toUpperCase()
    const value = args[index + 1]
    if (value === undefined) refuse(SYNTAX)
    if (word === 'MATCH') test = globTest(value!)
    else if (word === 'COUNT') {
      if (integer(value!, NO_INTEGER) < 1) refuse(SYNTAX)
    } else if (word === 'TYPE' && at === 1) type = value!.toLowerCase()
    else refuse(SYNTAX)
  }
  return { test, type }
}
