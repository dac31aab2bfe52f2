import { setTimeout as sleep } from 'node:timers/promises'
import { Command, Option } from 'commander'
import { wallClockMs } from '../../core/clock.ts'
import { InvalidOptionsError } from '../../core/errors.ts'
import { openExistingLine } from '../existing-line.ts'
import { EXIT } from '../exit.ts'
import { FullScreen, SIGNAL_CODES } from '../full-screen.ts'
import { addLineOptions, type LineFlags, openService } from '../line-flags.ts'
import { formatCount, percentage, positiveNumber, wholeNumber } from '../numbers.ts'
import { awaitAnswer } from '../progress.ts'
import { showRedisUrl } from '../redis-url.ts'
import { note, print } from '../terminal.ts'
import { readTop, type TopLister, type TopRow, type TopRows } from './rows.ts'
import { rowsSeen } from './screen.ts'
import { TopSession } from './session.ts'
import { FAMILY_SORT_COLUMNS, FIRST_STATE, SORT_COLUMNS, type SortColumn, type TopState } from './state.ts'
import { renderTopTable } from './table.ts'

interface Flags extends LineFlags {
  readonly families?: true
  readonly minFill: number
  readonly sort: SortColumn
  readonly reverse?: true
  readonly count: number
  readonly every?: number
  readonly once?: true
  readonly json?: true
}

const DAY_S = 86_400
const EXAMPLE = `
Keys:
  q  quit               /  only keys that begin with ...   up, down, page up, page down, home, end  scroll
  s  S  sort            f  only buckets at least 50, 80 or 100 % full
  r  reverse the order  Esc  clear filters
  t  totals of families, and back

Examples:
  velvet-rope top --url http://127.0.0.1:7077
  velvet-rope top stripe/ --min-fill 80 --sort oldest --redis redis://127.0.0.1:6379 --name sms
  velvet-rope top stripe --families --url http://127.0.0.1:7077
  velvet-rope top --url http://127.0.0.1:7077 --json --every 10 >> buckets.jsonl`

/** `velvet-rope top`: shows the live buckets. */
export function topCommand(): Command {
  const command = new Command('top')
    .summary('show live buckets in the terminal: fill, waits, next departures; filter and sort')
    .description(
      'Shows the live buckets of a running line, of a service (--url) or in Redis (--redis, --name). ' +
        'On a terminal the view updates until q is pressed; elsewhere it is one table. With --json it is one JSON ' +
        'document, { at, total, buckets }; with --every also one line of JSON each time, until interrupted. With ' +
        '--families its rows are totals, the limits of the sums of families, and the document has families in place of buckets.',
    )
    .argument('[prefix]', 'only buckets whose key begins with this', '')
  return addLineOptions(command)
    .option(
      '--families',
      'totals, and not buckets; [prefix] is then a key, and those at and below it are shown',
    )
    .option('--min-fill <percent>', 'only buckets at least this full', percentage, 0)
    .addOption(new Option('--sort <column>', 'the column to sort by').choices(SORT_COLUMNS).default('fill'))
    .option('--reverse', 'reverse the order')
    .option('--count <n>', 'the most buckets of a table or of JSON', wholeNumber(1, 1_000_000), 100)
    .option('--every <s>', 'seconds between updates (default: 1 on a terminal)', positiveNumber(DAY_S))
    .addOption(new Option('--once', 'print one table, also on a terminal').conflicts('every'))
    .option('--json', 'print the answer as JSON')
    .addHelpText('after', EXAMPLE)
    .action(async (prefix: string, flags: Flags, self: Command) => {
      const service = openService(flags, self)
      const lister: TopLister = service ?? (await awaitAnswer(openExistingLine(flags)))
      try {
        await top(lister, stateOf(prefix, flags), flags)
      } finally {
        await lister.close()
      }
    })
}

function stateOf(prefix: string, { families, minFill, sort, reverse }: Flags): TopState {
  const isFamilies = families === true
  if (isFamilies && minFill > 0) {
    throw new InvalidOptionsError('expected --families without --min-fill: totals have no filter by fill')
  }
  if (isFamilies && !FAMILY_SORT_COLUMNS.some((column) => column === sort)) {
    throw new InvalidOptionsError(
      `expected --sort with --families to be ${FAMILY_SORT_COLUMNS.join(', ')}, got: ${sort}`,
    )
  }
  if (Buffer.byteLength(prefix) > 256) {
    throw new InvalidOptionsError(
      `expected <prefix> to be at most 256 bytes, got: ${Buffer.byteLength(prefix)}`,
    )
  }
  return { ...FIRST_STATE, isFamilies, prefix, minFill: minFill / 100, sort, isReversed: reverse === true }
}

async function top(lister: TopLister, state: TopState, flags: Flags): Promise<void> {
  const { once, json, every } = flags
  if (!json && !once && isInteractive()) return live(lister, state, flags)
  const read = () => awaitAnswer(readTop(lister, state, flags.count))
  if (every === undefined) return show(await read(), flags)
  for (;;) {
    show(await read(), flags)
    await sleep(every * 1_000)
    if (!json) print('')
  }
}

/** Whether input and output are a terminal that can be drawn on. */
function isInteractive(): boolean {
  return process.stdout.isTTY === true && process.stdin.isTTY === true && process.env['TERM'] !== 'dumb'
}

async function live(lister: TopLister, state: TopState, flags: Flags): Promise<void> {
  const screen = new FullScreen()
  // Read before the screen is taken, so that errors stay visible.
  const first = await awaitAnswer(readTop(lister, state, rowsSeen(screen.size)))
  const session = new TopSession(state, first, {
    lister,
    screen,
    place: placeOf(flags),
    everyMs: (flags.every ?? 1) * 1_000,
  })
  screen.enter({
    onKeys: (keys) => session.press(keys),
    onResize: () => session.resize(),
    onEnd: (signal) => {
      process.exitCode = SIGNAL_CODES[signal]
      session.end()
    },
  })
  try {
    if ((await session.run()) === 'interrupt') process.exitCode = EXIT.interrupted
  } finally {
    screen.leave()
  }
}

function show(found: TopRows, { json, every }: Flags): void {
  const at = wallClockMs()
  const { isFamilies, rows, total } = found
  const what = isFamilies ? 'families' : 'buckets'
  if (json) {
    print(JSON.stringify({ at, total, [what]: rows.map(jsonOf) }, null, every === undefined ? 2 : 0))
    return
  }
  print(renderTopTable(found, at))
  if (rows.length < total) {
    note(`${formatCount(rows.length)} of ${formatCount(total)} ${what}; --count for more`)
  }
}

/** A total as a service sends it. */
function jsonOf(row: TopRow): object {
  if (row.children === undefined) return row
  const { key, oldestWaitMs, ...family } = row
  return family
}

function placeOf({ url, redis = '', name }: Flags): string {
  return url === undefined ? `${name} at ${showRedisUrl(redis)}` : new URL(url).host
}
