import { realpathSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { isVelvetRopeError } from '../src/core/errors.ts'
import { messageOf, toError } from '../src/core/thrown.ts'

/** Runs `main` and then ends the process, if `url` is the file that the process was started with. */
export async function runAsMain(url: string, main: () => Promise<void>): Promise<void> {
  const started = process.argv[1]
  if (started === undefined || realpathSync(started) !== fileURLToPath(url)) return
  // A handler's open connections must not keep an ended worker alive.
  process.exit(await main().then(() => 0, reportFailure))
}

function reportFailure(thrown: unknown): number {
  const error = toError(thrown)
  const text = isVelvetRopeError(error) ? error.message : (error.stack ?? messageOf(error))
  process.stderr.write(`velvet-rope: ${text}\n`)
  return 1
}
