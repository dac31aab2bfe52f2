import { Command } from 'commander'
import { EXIT } from './exit-codes.ts'
import { checkJobId } from './job-id.ts'
import { openKnownLine } from './known-line.ts'
import { addPlaceOptions, openService, type PlaceFlags } from './line-or-service.ts'
import { awaitAnswer } from './progress.ts'
import { note, print } from './terminal.ts'

interface Flags extends PlaceFlags {
  readonly json?: true
}

/** What cancels jobs: a service, or a line in Redis. */
interface Canceller {
  cancel(id: string): Promise<boolean>
  close(): Promise<void>
}

const EXAMPLE = `
Examples:
  velvet-rope cancel order-42 --url http://127.0.0.1:7077
  velvet-rope cancel order-42 --redis redis://127.0.0.1:6379 --name sms`

/** `velvet-rope cancel`: takes a waiting job out of its line. */
export function cancelCommand(): Command {
  const command = new Command('cancel')
    .summary('take a waiting job out of its line; exit 1 if it is unknown or has departed')
    .description(
      'Takes a waiting job out of its line: asks a service (--url), or Redis (--redis, --name). Exit 1 when the job is ' +
        'unknown or does not wait any more.',
    )
    .argument('<id>', 'the id of the job')
  return addPlaceOptions(command)
    .option('--json', 'the answer as JSON')
    .addHelpText('after', EXAMPLE)
    .action(cancel)
}

async function cancel(id: string, flags: Flags, self: Command): Promise<void> {
  checkJobId(id)
  const canceller: Canceller = openService(flags, self) ?? (await awaitAnswer(openKnownLine(flags)))
  try {
    const cancelled = await awaitAnswer(canceller.cancel(id))
    if (!cancelled) process.exitCode = EXIT.failure
    if (flags.json) print(JSON.stringify({ id, cancelled }))
    else if (cancelled) print(`cancelled  ${id}`)
    else note(`no job ${id} waits: it is unknown, has departed or has ended`)
  } finally {
    await canceller.close()
  }
}
