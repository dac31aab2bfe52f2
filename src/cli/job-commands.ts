import { Command } from 'commander'
import { InvalidOptionsError } from '../core/errors.ts'
import type { JobExplanation } from '../core/explanation-view.ts'
import type { Hold } from '../core/hold.ts'
import { JOB_OR_TURN_ID } from '../core/job.ts'
import type { Costs } from '../core/usage.ts'
import type { FindOptions } from '../shaper/options.ts'
import { showText } from './display-text.ts'
import { useLine } from './existing-line.ts'
import { EXIT } from './exit.ts'
import { addLineOptions, type LineFlags } from './line-flags.ts'
import { costsFlag, wholeNumber } from './numbers.ts'
import { type Column, renderFacts, renderTable } from './table.ts'
import { note, print } from './terminal.ts'

interface Flags extends LineFlags {
  readonly key?: string
  readonly json?: true
}

interface SettleFlags extends Flags {
  readonly costOf: Costs
  readonly fence?: number
  readonly attempt?: number
}

const COLUMNS: readonly Column[] = [{ title: 'held by' }, { title: 'until (UTC)' }, { title: 'why' }]

/** `velvet-rope explain`: why a job is not running. */
export function explainCommand(): Command {
  return jobCommand(
    'explain',
    'why a job is not running: what holds it, which jobs are ahead of it, when it departs',
    'Says in one sentence why a job is not running, or how it ended, and lists what holds it. ' +
      'Asks a service (--url) or Redis (--redis, --name). Exits with 1 if the job is unknown.',
  ).action(async (id: string, flags: Flags, self: Command) => {
    checkJobId(id)
    showExplanation(id, await useLine(flags, self, (line) => line.explain(id, placeOf(flags))), flags)
  })
}

/** `velvet-rope cancel`: takes a waiting job out of its line. */
export function cancelCommand(): Command {
  return jobCommand(
    'cancel',
    'take a waiting job out of its line; exit 1 if it is unknown or has departed',
    'Takes a waiting job out of its line. Asks a service (--url) or Redis (--redis, --name). ' +
      'Exits with 1 if the job is unknown or no longer waiting.',
  ).action(async (id: string, flags: Flags, self: Command) => {
    checkJobId(id)
    const cancelled = await useLine(flags, self, (line) => line.cancel(id, placeOf(flags)))
    if (!cancelled) process.exitCode = EXIT.failure
    if (flags.json) print(JSON.stringify({ id, cancelled }))
    else if (cancelled) print(`cancelled  ${id}`)
    else note(`job ${id} is not waiting: it is unknown, has departed or has ended`)
  })
}

/** `velvet-rope settle`: says what the running attempt of a job really counts. */
export function settleCommand(): Command {
  return jobCommand(
    'settle',
    'say what the running attempt of a job really counts; exit 1 if it was settled before or does not run',
    'Says what the running attempt of a job really counts in quotas of named units, in place of what was estimated. ' +
      'Asks a service (--url) or Redis (--redis, --name). Exits with 1 if the attempt was settled before, or the job ' +
      'is unknown or does not run.',
    ' --cost-of tokens=812',
  )
    .requiredOption(
      '--cost-of <unit=n,...>',
      'what it counts in quotas of named units, such as tokens=812',
      costsFlag,
    )
    .option(
      '--fence <n>',
      'the fence of the start (default: the one that runs)',
      wholeNumber(1, Number.MAX_SAFE_INTEGER),
    )
    .option(
      '--attempt <n>',
      'the number of the attempt; one that started again needs its fence',
      wholeNumber(1, 1_000),
    )
    .action(async (id: string, flags: SettleFlags, self: Command) => {
      checkJobId(id)
      const { costOf, fence, attempt } = flags
      const which = { ...(fence !== undefined && { fence }), ...(attempt !== undefined && { attempt }) }
      const asked = { ...placeOf(flags), ...which }
      const settled = await useLine(flags, self, (line) => line.settle(id, costOf, asked))
      if (!settled) process.exitCode = EXIT.failure
      if (flags.json) print(JSON.stringify({ id, settled }))
      else if (settled) print(`settled  ${id}`)
      else
        note(
          `job ${id} is not settled: it is unknown, does not run, was settled before, or another start was named`,
        )
    })
}

function jobCommand(name: string, summary: string, description: string, more = ''): Command {
  const command = new Command(name)
    .summary(summary)
    .description(description)
    .argument('<id>', 'the id of the job')
  return addLineOptions(command)
    .option('--key <key>', 'its key, or the first segment of it: for an id that several first segments use')
    .option('--json', 'print the answer as JSON')
    .addHelpText(
      'after',
      `
Examples:
  velvet-rope ${name} order-42${more} --url http://127.0.0.1:7077
  velvet-rope ${name} order-42${more} --redis redis://127.0.0.1:6379 --name sms --json`,
    )
}

function placeOf({ key }: Flags): FindOptions {
  return key === undefined ? {} : { key }
}

/** @throws InvalidOptionsError */
function checkJobId(id: string): void {
  if (JOB_OR_TURN_ID.test(id)) return
  throw new InvalidOptionsError('expected <id> to be letters, digits, _, - and ~, 1 to 128 of them')
}

function showExplanation(id: string, explanation: JobExplanation | undefined, { json }: Flags): void {
  if (explanation === undefined) process.exitCode = EXIT.failure
  if (json) print(JSON.stringify(explanation ?? null, null, 2))
  else if (explanation === undefined) note(`job ${id} is unknown; ended jobs are kept for a while only`)
  else print(render(explanation))
}

function render(explanation: JobExplanation): string {
  const { summary, holds, ahead, rule } = explanation
  const facts: (readonly [string, string])[] = []
  if (ahead.jobs > 0) {
    const more = ahead.jobs > ahead.ids.length ? ', ...' : ''
    facts.push(['ahead of it', ahead.ids.map(showText).join(', ') + more])
  }
  if (rule !== undefined) {
    const by = rule.by === undefined ? '' : `, set by ${rule.by}`
    facts.push(['rule', showText(`${rule.pattern}: ${rule.limit} (${rule.origin}${by})`)])
  }
  const parts = [showText(summary)]
  if (holds.length > 0) parts.push(renderTable(COLUMNS, holds.map(cells)))
  if (holds.length > 0 && facts.length > 0) parts.push(renderFacts(facts))
  return parts.join('\n\n')
}

function cells({ reason, until, detail }: Hold): string[] {
  const when = until === undefined ? '' : new Date(until).toISOString().replace('T', ' ').slice(0, -1)
  return [reason, when, showText(detail)]
}
