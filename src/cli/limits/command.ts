import { Command, Option } from 'commander'
import { quote } from '../../core/describe.ts'
import { InvalidOptionsError } from '../../core/errors.ts'
import { checkKey } from '../../core/key.ts'
import { parseLimit } from '../../core/limit.ts'
import { formatLimit } from '../../core/limit-format.ts'
import { formatMeterLimit, parseOwnMeterLimit } from '../../core/meter-limit.ts'
import { RuleBookConflictError } from '../../core/rule-errors.ts'
import type { LocalRuleView, RuleView, UnsetRuleView } from '../../core/rule-view.ts'
import type { PreviewedChange } from '../../line/preview-change.ts'
import type { ResetOptions } from '../../line/rule-options.ts'
import type { ApiClient } from '../api/client.ts'
import { showText } from '../display-text.ts'
import { EXIT } from '../exit.ts'
import { addLineOptions, type LineFlags, openService } from '../line-flags.ts'
import { wholeNumber } from '../numbers.ts'
import { awaitAnswer } from '../progress.ts'
import { type Column, renderTable } from '../table.ts'
import { note, print } from '../terminal.ts'
import { renderPreview } from './preview-report.ts'
import { openBook, type RuleBookPort } from './rule-book.ts'

interface Flags extends LineFlags, ResetOptions {
  readonly json?: true
  readonly dryRun?: true
  readonly local?: true
}

const COLUMNS: readonly Column[] = [
  { title: 'pattern' },
  { title: 'limit' },
  { title: 'origin' },
  { title: 'by' },
  { title: 'at (UTC)' },
]

/** Messages about a removal: when it is done, and when there was nothing to remove. */
const REMOVALS = {
  unset: { done: 'unset', none: 'no limit of' },
  reset: { done: 'reset', none: 'nothing was set by hand for' },
  local: {
    done: 'unset in the process of the service',
    none: 'the process of the service has no local limit for',
  },
} as const

const EXAMPLE = `
Examples:
  velvet-rope limits list --url http://127.0.0.1:7077
  velvet-rope limits set stripe/acct_42 '500, 100/s' --redis redis://127.0.0.1:6379 --name sms
  velvet-rope limits set 'openai/*' '500, 8/s, 90000 tokens/minute 1200 each, 50 at once' --url http://127.0.0.1:7077
  velvet-rope limits unset stripe/acct_42 --if-version 7 --url http://127.0.0.1:7077
  velvet-rope limits set 'stripe/*' '50, 5/s' --url http://127.0.0.1:7077 --dry-run
  velvet-rope limits set 'stripe/*' '20, 2/s' --url http://127.0.0.1:7077 --local`

/** `velvet-rope limits`: shows and changes the rule book of a running line. */
export function limitsCommand(): Command {
  const limits = new Command('limits')
    .summary('show and change the rule book of a running line: list, set, unset, reset')
    .description(
      'Shows and changes the limits of a running line, of a service (--url) or in Redis (--redis, --name). ' +
        'A limit that is set here overrides code, file and environment until it is reset. It applies in every ' +
        'process, also to jobs that are already waiting.',
    )
    .addHelpText('after', EXAMPLE)
  limits.addCommand(
    verb('list', 'list every pattern with its limit, its origin, who set it, and when').action(list),
  )
  limits.addCommand(
    changing('set', 'set the limit of a pattern')
      .addOption(localOption())
      .argument('<pattern>', "the keys, such as 'stripe/*'")
      .argument('<limit>', "capacity and rate, such as '500, 100/s'")
      .action(set),
  )
  limits.addCommand(
    changing('unset', 'remove the limit of a pattern, even if code or file set it; exit 1 if there was none')
      .addOption(localOption())
      .argument('<pattern>')
      .action(unset),
  )
  limits.addCommand(
    changing('reset', 'restore the limit of code or file; exit 1 if nothing was set by hand')
      .argument('<pattern>')
      .action(reset),
  )
  limits.addCommand(
    new Command('preview').argument('[words...]').allowUnknownOption().action(refusePreview),
    { hidden: true },
  )
  return limits
}

/** The library has a call of this name. */
function refusePreview(): never {
  throw new InvalidOptionsError(
    'expected list, set, unset or reset, got: preview; set, unset and reset with --dry-run show what they would do, and change nothing',
  )
}

function verb(name: string, summary: string): Command {
  return addLineOptions(new Command(name).summary(summary).description(summary)).option(
    '--json',
    'print the answer as JSON',
  )
}

function changing(name: string, summary: string): Command {
  return verb(name, summary)
    .option('--dry-run', 'change nothing; show what it would do to the live buckets')
    .option(
      '--if-version <n>',
      'change only this version of the rule book, as list shows it; else exit 1',
      wholeNumber(0, Number.MAX_SAFE_INTEGER),
    )
}

function localOption(): Option {
  return new Option('--local', "only in the service's own process, before the line; needs --url")
}

async function list(flags: Flags, command: Command): Promise<void> {
  const book = await useBook(flags, command, (book) => book.list())
  if (flags.json) {
    print(JSON.stringify(book, null, 2))
    return
  }
  const unset = book.unset.map((rule) => ({ ...rule, limit: '-', origin: 'unset' }))
  print(renderTable(COLUMNS, [...book.limits, ...unset].map(cells)))
  if (book.version > 0) note(`version ${book.version} of the rule book`)
}

async function set(pattern: string, limit: string, flags: Flags, command: Command): Promise<void> {
  checkKey(pattern, 'pattern')
  if (flags.local) {
    const text = formatMeterLimit(parseOwnMeterLimit(limit))
    const rule = await useProcess(flags, command, (service) => service.setLocalLimit(pattern, text))
    return printSet('set in the process of the service', rule, flags)
  }
  const text = formatLimit(parseLimit(limit, pattern))
  if (flags.dryRun) return preview({ set: [pattern, text] }, flags, command)
  const { ifVersion } = flags
  printSet('set', await useBook(flags, command, (book) => book.set(pattern, text, { ifVersion })), flags)
}

async function unset(pattern: string, flags: Flags, command: Command): Promise<void> {
  checkKey(pattern, 'pattern')
  if (flags.local) {
    const existed = await useProcess(flags, command, (service) => service.unsetLocalLimit(pattern))
    return printRemoved('local', pattern, existed, flags)
  }
  if (flags.dryRun) return preview({ unset: pattern }, flags, command)
  const { ifVersion } = flags
  const existed = await useBook(flags, command, (book) => book.unset(pattern, { ifVersion }))
  printRemoved('unset', pattern, existed, flags)
}

async function reset(pattern: string, flags: Flags, command: Command): Promise<void> {
  checkKey(pattern, 'pattern')
  if (flags.dryRun) return preview({ reset: pattern }, flags, command)
  const { ifVersion } = flags
  const existed = await useBook(flags, command, (book) => book.reset(pattern, { ifVersion }))
  printRemoved('reset', pattern, existed, flags)
}

function printSet(how: string, rule: RuleView | LocalRuleView, { json }: Flags): void {
  print(json ? JSON.stringify(rule) : `${how}  ${showText(rule.pattern)}  ${showText(rule.limit)}`)
}

function printRemoved(verb: keyof typeof REMOVALS, pattern: string, existed: boolean, { json }: Flags): void {
  if (!existed) process.exitCode = EXIT.failure
  if (json) print(JSON.stringify({ pattern, existed }))
  else if (existed) print(`${REMOVALS[verb].done}  ${showText(pattern)}`)
  else note(`${REMOVALS[verb].none} ${quote(pattern)}`)
}

async function preview(change: PreviewedChange, flags: Flags, command: Command): Promise<void> {
  const found = await useBook(flags, command, (book) => book.preview(change))
  const { ifVersion = found.version } = flags
  if (ifVersion !== found.version) throw new RuleBookConflictError(ifVersion, found.version)
  print(flags.json ? JSON.stringify(found, null, 2) : renderPreview(found))
}

/** @throws InvalidOptionsError */
async function useProcess<Answer>(
  flags: Flags,
  command: Command,
  work: (service: ApiClient) => Promise<Answer>,
): Promise<Answer> {
  if (flags.dryRun) {
    throw new InvalidOptionsError(
      'expected --local or --dry-run, got both: a local limit does not affect waiting jobs',
    )
  }
  const service = openService(flags, command)
  if (service === undefined) {
    throw new InvalidOptionsError(
      'expected --url together with --local, got: none; a local limit is set in a running service',
    )
  }
  try {
    return await awaitAnswer(work(service))
  } finally {
    await service.close()
  }
}

async function useBook<Answer>(
  flags: Flags,
  command: Command,
  work: (book: RuleBookPort) => Promise<Answer>,
): Promise<Answer> {
  const book = await awaitAnswer(openBook(flags, command))
  try {
    return await awaitAnswer(work(book))
  } finally {
    await book.close()
  }
}

interface Listed extends UnsetRuleView {
  readonly limit: string
  readonly origin: string
}

function cells({ pattern, limit, origin, by, at }: Listed): string[] {
  const when = at === undefined ? '' : new Date(at).toISOString().replace('T', ' ').slice(0, 19)
  return [showText(pattern), showText(limit), origin, showText(by ?? ''), when]
}
