import { EXIT } from './exit-codes.ts'
import { reportError } from './report-error.ts'

/** Runs a process that lives long, and ends it: a handler may keep connections of its own open. */
export async function runToEnd(run: () => Promise<void>): Promise<never> {
  process.exitCode = await run().then(() => EXIT.ok, reportError)
  process.exit()
}
