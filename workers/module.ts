import { realpathSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { quote } from '../src/core/describe.ts'
import { isVelvetRopeError, messageOf, toError } from '../src/core/errors.ts'
import type { ShaperOptions, WorkOptions } from '../src/shaper/options.ts'
import { Shaper } from '../src/shaper/shaper.ts'
import { readEnvironment } from './environment.ts'
import { loadHandler } from './handler-file.ts'
import { showRedisUrl } from './redis-url.ts'
import { terminationSignal } from './termination.ts'
import { logWorker, say } from './worker-log.ts'

export interface ModuleWorkerOptions {
  /** The user's handler file, from the working folder: `export default async (job) => result`. */
  readonly file: string
  /** The shaper, as its producers call it. */
  readonly name: string
  readonly shaper: ShaperOptions & { readonly connection: string }
  readonly work: WorkOptions
  readonly drainMs: number
}

/**
 * A worker process: runs a user's own handler on a shared line until SIGTERM or SIGINT. Then it takes no more jobs,
 * gives back those whose handlers have not started, and lets the others end; a second signal ends it at once.
 *
 * @throws InvalidOptionsError for a handler that cannot be used, BackendUnavailableError when Redis does not answer
 */
export async function runModuleWorker(options: ModuleWorkerOptions): Promise<void> {
  const { file, name, drainMs } = options
  const handler = await loadHandler(file)
  const shaper = new Shaper(name, options.shaper)
  logWorker(shaper, showRedisUrl(options.shaper.connection))
  try {
    await shaper.ready()
    const worker = shaper.work(handler, options.work)
    say(`working on ${quote(name)} with ${quote(file)}, up to ${worker.concurrency} at once`)
    const signal = await terminationSignal()
    say(
      `${signal}: takes no more jobs; handlers that run (${worker.running}) get ${drainMs} ms; again to end at once`,
    )
  } finally {
    await shaper.close({ drainMs })
  }
  say('ended')
}

/** `node dist/workers/module.js ./handler.js`, with everything else from the environment. */
async function main(): Promise<number> {
  try {
    await runModuleWorker(readEnvironment(process.argv.slice(2), process.env))
    return 0
  } catch (thrown) {
    const error = toError(thrown)
    say(`velvet-rope: ${isVelvetRopeError(error) ? error.message : (error.stack ?? messageOf(error))}`)
    return 1
  }
}

function isMain(): boolean {
  const started = process.argv[1]
  return started !== undefined && realpathSync(started) === fileURLToPath(import.meta.url)
}

// A handler may keep connections of its own open, and must not keep a worker alive that has ended.
if (isMain()) process.exit(await main())
