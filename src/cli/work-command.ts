import { Command } from 'commander'
import { loadHandler } from '../../workers/handler-file.ts'
import { InvalidOptionsError } from '../core/errors.ts'
import { runService } from '../service/run-service.ts'
import { runToEnd } from './exit.ts'
import { addServiceOptions, readSources, type ServiceFlags } from './service-flags.ts'

interface Flags extends ServiceFlags {
  readonly forward?: true
}

const EXAMPLE = `
Examples:
  // handler.mjs
  export default async (job) => { await sendMessage(job.key, job.data) }

  velvet-rope work ./handler.mjs --redis redis://127.0.0.1:6379 --name sms --limit '100, 10/s'
  velvet-rope work --forward --config velvet-rope.yaml`

/** `velvet-rope work`: runs a worker process, with a user's handler or the one that forwards. */
export function workCommand(): Command {
  const command = new Command('work')
    .summary("run a worker process: a handler file on a line in Redis, at each key's rate, or forwarding")
    .description(
      'Runs the default export of an ES module, (job) => result, on the jobs of a line in Redis; or, with ' +
        '--forward, sends each job as an HTTP request to the third-party API that it names. Any number of workers may ' +
        'run. A TypeScript file works where Node itself can load it. All settings may be in a configuration file, in ' +
        'the environment as VELVET_ROPE_*, or in flags.\n\n' +
        'On SIGTERM and SIGINT it takes no more jobs, lets running handlers finish, and exits with 0; jobs that have ' +
        'not started stay in Redis. A second signal exits at once.',
    )
    .argument('[handler]', 'the handler file, relative to the working directory')
    .option('--forward', 'forward jobs by HTTP, as configured')
    .option('--listen <host:port>', 'the address for /healthz, /readyz and /metrics; default: none')
  return addServiceOptions(command)
    .addHelpText('after', EXAMPLE)
    .action((file: string | undefined, { forward, ...flags }: Flags) =>
      runToEnd(async () =>
        runService({
          sources: await readSources(flags),
          api: false,
          work: await handlerOf(file, forward),
        }),
      ),
    )
}

async function handlerOf(file: string | undefined, forward: true | undefined) {
  if (file !== undefined && forward === undefined) return loadHandler(file)
  if (file === undefined && forward === true) return 'forward'
  throw new InvalidOptionsError(
    `expected either a handler file, such as ./handler.js, or --forward, got: ${file === undefined ? 'neither' : 'both'}`,
  )
}
