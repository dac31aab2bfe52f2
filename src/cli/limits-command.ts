import { userInfo } from 'node:os'
import { Command } from 'commander'
import { quote } from '../core/describe.ts'
import { checkKey } from '../core/key.ts'
import { formatLimit, parseLimit } from '../core/limit.ts'
import type { RuleView } from '../shaper/limits.ts'
import { showText } from './display-text.ts'
import { EXIT } from './exit-codes.ts'
import { openKnownLine } from './known-line.ts'
import { addPlaceOptions, openService, type PlaceFlags } from './line-or-service.ts'
import { awaitAnswer } from './progress.ts'
import { type Column, renderTable } from './table.ts'
import { note, print } from './terminal.ts'

interface Flags extends PlaceFlags {
  readonly json?: true
}

/** The rule book of a running line, wherever it is kept. */
interface RuleBookPort {
  list(): Promise<readonly RuleView[]>
  set(pattern: string, limit: string): Promise<RuleView>
  /** False when there was none; so does `reset`. */
  unset(pattern: string): Promise<boolean>
  reset(pattern: string): Promise<boolean>
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
  velvet-rope limits set stripe/acct_42 '500, 100/s' --redis redis://127.0.0.1:6379 --name sms`

/** `velvet-rope limits`: the rule book of a running line, to look at and to change. */
export function limitsCommand(): Command {
  const limits = new Command('limits')
    .summary('the rule book of a running line: list, set, unset, reset')
    .description(
      'Shows and changes the limits of a running line: that of a service (--url), or in Redis (--redis, --name). ' +
        'What is set here goes before what code and file say, until it is reset; it reaches every process, and the ' +
        'jobs that wait already.',
    )
    .addHelpText('after', EXAMPLE)
  limits.addCommand(
    verb('list', 'every pattern with its limit, where it comes from, who set it and when').action(list),
  )
  limits.addCommand(
    verb('set', 'the limit of a pattern, from now on')
      .argument('<pattern>', "keys that it governs, such as 'stripe/*'")
      .argument('<limit>', "capacity and rate, such as '500, 100/s'")
      .action(set),
  )
  limits.addCommand(
    verb('unset', 'no limit of this pattern any more, whatever code and file say; exit 1 if there was none')
      .argument('<pattern>')
      .action(unset),
  )
  limits.addCommand(
    verb('reset', 'what code or file says is in force again; exit 1 if nothing was set by hand')
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

async function list(flags: Flags, command: Command): Promise<void> {
  const rules = await useBook(flags, command, (book) => book.list())
  if (flags.json) print(JSON.stringify(rules, null, 2))
  else print(renderTable(COLUMNS, rules.map(cells)))
}

async function set(pattern: string, limit: string, flags: Flags, command: Command): Promise<void> {
  checkKey(pattern, 'pattern')
  const text = formatLimit(parseLimit(limit))
  const rule = await useBook(flags, command, (book) => book.set(pattern, text))
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
  const existed = await useBook(flags, command, (book) => book[verb](pattern))
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
      set: (pattern, limit) => service.setLimit(pattern, limit),
      unset: (pattern) => service.unsetLimit(pattern),
      reset: (pattern) => service.resetLimit(pattern),
      close: () => service.close(),
    }
  }
  const shaper = await openKnownLine(flags)
  await shaper.ready()
  const by = userName()
  return {
    list: async () => shaper.limits.list(),
    set: (pattern, limit) => shaper.limits.set(pattern, limit, { by }),
    unset: (pattern) => shaper.limits.unset(pattern, { by }),
    reset: (pattern) => shaper.limits.reset(pattern),
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
