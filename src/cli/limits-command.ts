import { userInfo } from 'node:os'
import { Command } from 'commander'
import { quote } from '../core/describe.ts'
import { checkKey } from '../core/key.ts'
import { formatLimit, parseLimit } from '../core/limit.ts'
import type { ResetOptions, RuleView } from '../shaper/limits.ts'
import type { RuleBookView } from './api-replies.ts'
import { showText } from './display-text.ts'
import { EXIT } from './exit-codes.ts'
import { openKnownLine } from './known-line.ts'
import { addPlaceOptions, openService, type PlaceFlags } from './line-or-service.ts'
import { wholeNumber } from './numbers.ts'
import { awaitAnswer } from './progress.ts'
import { type Column, renderTable } from './table.ts'
import { note, print } from './terminal.ts'

interface Flags extends PlaceFlags, ResetOptions {
  readonly json?: true
}

/** The rule book of a running line, wherever it is kept. */
interface RuleBookPort {
  list(): Promise<RuleBookView>
  set(pattern: string, limit: string, options: ResetOptions): Promise<RuleView>
  /** False when there was none; so does `reset`. */
  unset(pattern: string, options: ResetOptions): Promise<boolean>
  reset(pattern: string, options: ResetOptions): Promise<boolean>
  close(): Promise<void>
}

const COLUMNS: readonly Column[] = [
  { title: 'pattern' },
  { title: 'limit' },
  { title: 'origin' },
  { title: 'by' },
  { title: 'at (UTC)' },
]

const EXAMPLE = `
Examples:
  velvet-rope limits list --url http://127.0.0.1:7077
  velvet-rope limits set stripe/acct_42 '500, 100/s' --redis redis://127.0.0.1:6379 --name sms
  velvet-rope limits unset stripe/acct_42 --if-version 7 --url http://127.0.0.1:7077`

/** `velvet-rope limits`: the rule book of a running line, to look at and to change. */
export function limitsCommand(): Command {
  const limits = new Command('limits')
    .summary('the rule book of a running line: list, set, unset, reset')
    .description(
      'Shows and changes the limits of a running line: that of a service (--url), or in Redis (--redis, --name). ' +
        'What is set here goes before what code, file and environment say, until it is reset; it reaches every ' +
        'process, and the jobs that wait already.',
    )
    .addHelpText('after', EXAMPLE)
  limits.addCommand(
    verb('list', 'every pattern with its limit, where it comes from, who brought or set it, and when').action(
      list,
    ),
  )
  limits.addCommand(
    change('set', 'the limit of a pattern, from now on')
      .argument('<pattern>', "keys that it governs, such as 'stripe/*'")
      .argument('<limit>', "capacity and rate, such as '500, 100/s'")
      .action(set),
  )
  limits.addCommand(
    change('unset', 'no limit of this pattern any more, whatever code and file say; exit 1 if there was none')
      .argument('<pattern>')
      .action(unset),
  )
  limits.addCommand(
    change('reset', 'what code or file says is in force again; exit 1 if nothing was set by hand')
      .argument('<pattern>')
      .action(reset),
  )
  return limits
}

function verb(name: string, summary: string): Command {
  return addPlaceOptions(new Command(name).summary(summary).description(summary)).option(
    '--json',
    'the answer as JSON',
  )
}

function change(name: string, summary: string): Command {
  return verb(name, summary).option(
    '--if-version <n>',
    'only if this is the version of the rule book, as list shows it; else exit 1',
    wholeNumber(0, Number.MAX_SAFE_INTEGER),
  )
}

async function list(flags: Flags, command: Command): Promise<void> {
  const book = await useBook(flags, command, (book) => book.list())
  if (flags.json) {
    print(JSON.stringify(book, null, 2))
    return
  }
  print(renderTable(COLUMNS, book.limits.map(cells)))
  if (book.version > 0) note(`version ${book.version} of the rule book`)
}

async function set(pattern: string, limit: string, flags: Flags, command: Command): Promise<void> {
  checkKey(pattern, 'pattern')
  const text = formatLimit(parseLimit(limit))
  const { ifVersion } = flags
  const rule = await useBook(flags, command, (book) => book.set(pattern, text, { ifVersion }))
  print(flags.json ? JSON.stringify(rule) : `set  ${showText(rule.pattern)}  ${showText(rule.limit)}`)
}

async function unset(pattern: string, flags: Flags, command: Command): Promise<void> {
  await remove('unset', pattern, flags, command)
}

async function reset(pattern: string, flags: Flags, command: Command): Promise<void> {
  await remove('reset', pattern, flags, command)
}

async function remove(
  verb: 'unset' | 'reset',
  pattern: string,
  flags: Flags,
  command: Command,
): Promise<void> {
  checkKey(pattern, 'pattern')
  const { ifVersion } = flags
  const existed = await useBook(flags, command, (book) => book[verb](pattern, { ifVersion }))
  if (!existed) process.exitCode = EXIT.failure
  if (flags.json) print(JSON.stringify({ pattern, existed }))
  else if (existed) print(`${verb}  ${showText(pattern)}`)
  else
    note(verb === 'unset' ? `no limit of ${quote(pattern)}` : `nothing was set by hand for ${quote(pattern)}`)
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

async function openBook(flags: Flags, command: Command): Promise<RuleBookPort> {
  const service = openService(flags, command)
  if (service !== undefined) {
    return {
      list: () => service.limits(),
      set: (pattern, limit, options) => service.setLimit(pattern, limit, options),
      unset: (pattern, options) => service.unsetLimit(pattern, options),
      reset: (pattern, options) => service.resetLimit(pattern, options),
      close: () => service.close(),
    }
  }
  const shaper = await openKnownLine(flags)
  await shaper.ready()
  const by = userName()
  return {
    list: async () => ({ version: shaper.limits.version, limits: shaper.limits.list() }),
    set: (pattern, limit, options) => shaper.limits.set(pattern, limit, { by, ...options }),
    unset: (pattern, options) => shaper.limits.unset(pattern, { by, ...options }),
    reset: (pattern, options) => shaper.limits.reset(pattern, options),
    close: () => shaper.close(),
  }
}

/** Who is at the keyboard; in a container he may have no name. */
function userName(): string {
  try {
    return userInfo().username
  } catch {
    return 'command line'
  }
}

function cells({ pattern, limit, origin, by, at }: RuleView): string[] {
  const when = at === undefined ? '' : new Date(at).toISOString().replace('T', ' ').slice(0, 19)
  return [showText(pattern), showText(limit), origin, showText(by ?? ''), when]
}
