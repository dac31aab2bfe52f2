import { Command } from 'commander'
import type { Hold, JobExplanation } from '../core/explanation-view.ts'
import { showText } from './display-text.ts'
import { EXIT } from './exit-codes.ts'
import { checkJobId } from './job-id.ts'
import { openKnownLine } from './known-line.ts'
import { addPlaceOptions, openService, type PlaceFlags } from './line-or-service.ts'
import { awaitAnswer } from './progress.ts'
import { type Column, renderFacts, renderTable } from './table.ts'
import { note, print } from './terminal.ts'

interface Flags extends PlaceFlags {
  readonly json?: true
}

/** Whoever can say why: a service, or a line in Redis. */
interface Explainer {
  explain(id: string): Promise<JobExplanation | undefined>
  close(): Promise<void>
}

const COLUMNS: readonly Column[] = [{ title: 'held by' }, { title: 'until (UTC)' }, { title: 'why' }]

const EXAMPLE = `
Examples:
  velvet-rope explain order-42 --url http://127.0.0.1:7077
  velvet-rope explain order-42 --redis redis://127.0.0.1:6379 --name sms --json`

/** `velvet-rope explain`: why a job is not running. */
export function explainCommand(): Command {
  const command = new Command('explain')
    .summary('why a job is not running: what holds it, who is before it, when it departs')
    .description(
      'Says in one sentence why a job of a running line is not running, or what became of it, and shows what holds it: ' +
        'asks a service (--url), or Redis (--redis, --name). Exit 1 when nobody knows the job.',
    )
    .argument('<id>', 'the id of the job')
  return addPlaceOptions(command)
    .option('--json', 'the answer as JSON')
    .addHelpText('after', EXAMPLE)
    .action(explain)
}

async function explain(id: string, flags: Flags, self: Command): Promise<void> {
  checkJobId(id)
  const explainer: Explainer = openService(flags, self) ?? (await awaitAnswer(openKnownLine(flags)))
  try {
    show(id, await awaitAnswer(explainer.explain(id)), flags)
  } finally {
    await explainer.close()
  }
}

function show(id: string, explanation: JobExplanation | undefined, { json }: Flags): void {
  if (explanation === undefined) process.exitCode = EXIT.failure
  if (json) print(JSON.stringify(explanation ?? null, null, 2))
  else if (explanation === undefined) note(`no job ${id} is known; jobs that ended are kept for a while`)
  else print(render(explanation))
}

function render(explanation: JobExplanation): string {
  const { summary, holds, ahead, rule } = explanation
  const facts: (readonly [string, string])[] = []
  if (ahead.jobs > 0) {
    const more = ahead.jobs > ahead.ids.length ? ', ...' : ''
    facts.push(['before it', ahead.ids.map(showText).join(', ') + more])
  }
  if (rule !== undefined) {
    const by = rule.by === undefined ? '' : ` by ${rule.by}`
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
