import type { Value } from './value.ts'

/** The name under which scripts are compiled, by which their frames are found. */
export const CHUNK = 'user_script'

/** How many lines of the script that runs stand before each function that it shares with others, by their files. */
let linesBefore: ReadonlyMap<string, number> = new Map()

/** A script begins to run. */
export function runsWithLines(before: ReadonlyMap<string, number>): void {
  linesBefore = before
}

/** A Lua error on its way up. */
export class LuaError {
  readonly value: Value
  /** The line of the script that raised it. */
  readonly line: number | undefined

  constructor(value: Value, line: number | undefined = linesOnStack()[0]) {
    this.value = value
    this.line = line
  }
}

/** Raises a message the way Lua's own functions do: with the place in the script before it. */
export function fail(message: string, level = 1): never {
  const lines = linesOnStack()
  const line = lines[level - 1]
  throw new LuaError(line === undefined ? message : `${CHUNK}:${line}: ${message}`, lines[0])
}

/** Generated code has each statement on the line on which it stands in Lua: the stack of JavaScript knows the lines. */
function linesOnStack(): number[] {
  const { prepareStackTrace, stackTraceLimit } = Error
  Error.prepareStackTrace = (_, sites) =>
    sites.flatMap((site) => {
      const file = site.getFileName()
      const before = file === CHUNK ? 0 : linesBefore.get(file ?? '')
      return before === undefined ? [] : [before + (site.getLineNumber() ?? 0)]
    })
  Error.stackTraceLimit = 40
  const holder: { stack?: unknown } = {}
  try {
    Error.captureStackTrace(holder, linesOnStack)
    return holder.stack as number[]
  } finally {
    Error.prepareStackTrace = prepareStackTrace
    Error.stackTraceLimit = stackTraceLimit
  }
}

/** What a pcall gives, or a script replies with: also where JavaScript itself gave up. */
export function asLuaError(thrown: unknown): LuaError {
  if (thrown instanceof LuaError) return thrown
  if (thrown instanceof RangeError && /call stack/i.test(thrown.message)) {
    return new LuaError(`${CHUNK}: stack overflow`, undefined)
  }
  throw thrown
}
