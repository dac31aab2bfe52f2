import { Command } from 'commander'
import { runModuleWorker } from '../../workers/module.ts'
import { DEFAULT_DRAIN_MS } from '../../workers/termination.ts'
import { EXIT } from './exit-codes.ts'
import { wholeNumber } from './numbers.ts'
import { reportError } from './report-error.ts'
import { addLineOptions, type LineFlags, readLineOptions } from './shared-line.ts'

interface Flags extends LineFlags {
  readonly concurrency?: number
  readonly drain: number
  readonly lease?: number
}

const DAY_MS = 86_400_000

const EXAMPLE = `
Example:
  // handler.js
  export default async (job) => { await sendMessage(job.key, job.data) }

  velvet-rope work ./handler.js --redis redis://127.0.0.1:6379 --name sms --limit '100, 10/s'`

/** `velvet-rope work`: a worker process with a user's own handler. */
export function workCommand(): Command {
  const command = new Command('work')
    .summary("a worker process: runs a handler file on a line in Redis, at each key's rate")
    .description(
      'Runs the default export of an ES module, (job) => result, on the jobs of a line that is kept in Redis. ' +
        'Any number of workers may run. A TypeScript file works where Node itself can load it.\n\n' +
        'SIGTERM and SIGINT: takes no more jobs, lets the handlers end that run, and exits with 0; jobs that have ' +
        'not started stay in Redis. A second signal ends it at once.',
    )
    .argument('<handler>', 'the handler file, from the working folder')
  return addLineOptions(command)
    .option('--concurrency <n>', 'handlers that run at once', wholeNumber(1, 1_000_000))
    .option(
      '--drain <ms>',
      'how long handlers that run may take to end',
      wholeNumber(0, DAY_MS),
      DEFAULT_DRAIN_MS,
    )
    .option(
      '--lease <ms>',
      'after so long without a sign of life, a job is given to another worker',
      wholeNumber(500, 600_000),
    )
    .addHelpText('after', EXAMPLE)
    .action(async (file: string, { concurrency, drain, lease, ...line }: Flags) => {
      const shaper = await readLineOptions(line)
      const work = { concurrency, leaseMs: lease }
      const ended = runModuleWorker({ file, name: line.name, shaper, work, drainMs: drain })
      process.exitCode = await ended.then(() => EXIT.ok, reportError)
      // A handler may keep connections of its own open, and must not keep a worker alive that has ended.
      process.exit()
    })
}
