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

/** `velvet-rope serve`: the HTTP API, and what belongs to it. */
export function serveCommand(): Command {
  const command = new Command('serve')
    .summary('the HTTP API and the scheduler; without Redis, everything in one process')
    .description(
      'Serves the producer API, and forwards jobs to third-party APIs at the rate of their key: in this process when ' +
        'there is no Redis or with --work, else in those of velvet-rope work --forward. Everything may stand in a ' +
        'configuration file, in the environment as VELVET_ROPE_*, or in flags; the file is read again when it changes.\n\n' +
        'SIGTERM and SIGINT: new jobs get 503, handlers that run end, and it exits with 0; jobs that wait stay in ' +
        'Redis, and are named when they were in memory. A second signal ends it at once. SIGHUP reads the file again, and goes on in a ' +
        'new file of arrivals if the old one was moved away.',
    )
  return addServiceOptions(command)
    .option('--listen <host:port>', 'where it answers; default: 127.0.0.1:7077')
    .option('--work', 'forward jobs in this process, also with Redis')
    .option('--record <file>', 'write down every arrival, for velvet-rope simulate')
    .option('--drain', 'without Redis, at the end: wait until nobody waits any more')
    .option('--print-config', 'show what is in force, and where each value comes from, instead of serving')
    .option('--json', 'with --print-config: as JSON')
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
