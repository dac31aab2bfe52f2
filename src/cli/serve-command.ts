import { Command } from 'commander'
import { type Config, listSettings } from '../config/config.ts'
import { loadConfig } from '../config/load-config.ts'
import { runService } from '../service/run-service.ts'
import { plainText } from './display-text.ts'
import { runToEnd } from './exit.ts'
import { addServiceOptions, readSources, type ServiceFlags } from './service-flags.ts'
import { renderTable } from './table.ts'
import { print } from './terminal.ts'

interface Flags extends ServiceFlags {
  readonly work?: true
  readonly drain?: true
  readonly printConfig?: true
  readonly json?: true
}

const EXAMPLE = `
Example:
  # velvet-rope.yaml
  limits: { '*': '100, 10/s' }
  forward: { allow: ['https://api.example.com'] }

  velvet-rope serve
  curl http://127.0.0.1:7077/v1/buckets/acme/jobs --json '{"data":{"method":"POST","url":"https://api.example.com/send"}}'`

/** `velvet-rope serve`: serves the HTTP API. */
export function serveCommand(): Command {
  const command = new Command('serve')
    .summary('serve the HTTP API and run the scheduler; without Redis, everything in one process')
    .description(
      'Serves the HTTP API, and forwards jobs to third-party APIs at the rate of their key: in this process without ' +
        'Redis or with --work, else in processes of velvet-rope work --forward. All settings may be in a ' +
        'configuration file, in the environment as VELVET_ROPE_*, or in flags; the file is reloaded when it changes.\n\n' +
        'On SIGTERM and SIGINT new jobs get 503, running handlers finish, and the process exits with 0. Waiting jobs ' +
        'stay in Redis; those in memory are listed. A second signal exits at once. SIGHUP reloads the file, and starts a ' +
        'new file of arrivals if the old one was moved away.',
    )
  return addServiceOptions(command)
    .option('--listen <host:port>', 'the address to listen on; default: 127.0.0.1:7077')
    .option('--work', 'forward jobs in this process, also with Redis')
    .option('--record <file>', 'record every arrival, for velvet-rope simulate')
    .option('--drain', 'without Redis, at shutdown: wait until no job is waiting')
    .option('--print-config', 'print the settings in force and their origins, and exit')
    .option('--json', 'with --print-config: print JSON')
    .addHelpText('after', EXAMPLE)
    .action(async ({ work, drain, printConfig, json, ...flags }: Flags) => {
      if (printConfig) {
        showSettings(await loadConfig(await readSources(flags)), json === true)
        return
      }
      await runToEnd(async () =>
        runService({
          sources: await readSources(flags),
          api: true,
          ...(work && { work: 'forward' as const }),
          drain: drain === true,
        }),
      )
    })
}

function showSettings(config: Config, asJson: boolean): void {
  const settings = listSettings(config)
  if (asJson) print(JSON.stringify({ file: config.file, settings }))
  else {
    const rows = settings.map(({ path, value, origin }) => [plainText(path), plainText(value), origin])
    print(renderTable([{ title: 'setting' }, { title: 'value' }, { title: 'from' }], rows))
  }
}
