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
import { type BucketLister, readTop, type TopBuckets } from './buckets.ts'
import { rowsSeen } from './screen.ts'
import { TopSession } from './session.ts'
import { FIRST_STATE, queryOf, SORT_COLUMNS, type SortColumn, type TopState } from './state.ts'
import { renderTopTable } from './table.ts'

interface Flags extends LineFlags {
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

Examples:
  velvet-rope top --url http://127.0.0.1:7077
  velvet-rope top stripe/ --min-fill 80 --sort oldest --redis redis://127.0.0.1:6379 --name sms
  velvet-rope top --url http://127.0.0.1:7077 --json --every 10 >> buckets.jsonl`

/** `velvet-rope top`: shows the live buckets. */
export function topCommand(): Command {
  const command = new Command('top')
    .summary('show live buckets in the terminal: fill, waits, next departures; filter and sort')
    .description(
      'Shows the live buckets of a running line, of a service (--url) or in Redis (--redis, --name). ' +
        'On a terminal the view updates until q is pressed; elsewhere it is one table. With --json it is one JSON ' +
        'document, { at, total, buckets }; with --every also one line of JSON each time, until interrupted.',
    )
    .argument('[prefix]', 'only buckets whose key begins with this', '')
  return addLineOptions(command)
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
      const lister: BucketLister = service ?? (await awaitAnswer(openExistingLine(flags)))
      try {
        await top(lister, stateOf(prefix, flags), flags)
      } finally {
        await lister.close()
      }
    })
}

function stateOf(prefix: string, { minFill, sort, reverse }: Flags): TopState {
  if (Buffer.byteLength(prefix) > 256) {
    throw new InvalidOptionsError(
      `expected <prefix> to be at most 256 bytes, got: ${Buffer.byteLength(prefix)}`,
    )
  }
  return { ...FIRST_STATE, prefix, minFill: minFill / 100, sort, isReversed: reverse === true }
}

async function top(lister: BucketLister, state: TopState, flags: Flags): Promise<void> {
  const { once, json, every } = flags
  if (!json && !once && isInteractive()) return live(lister, state, flags)
  const read = () => awaitAnswer(readTop(lister, queryOf(state), flags.count))
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

async function live(lister: BucketLister, state: TopState, flags: Flags): Promise<void> {
  const screen = new FullScreen()
  // Read before the screen is taken, so that errors stay visible.
  const first = await awaitAnswer(readTop(lister, queryOf(state), rowsSeen(screen.size)))
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

function show({ buckets, total }: TopBuckets, { json, every }: Flags): void {
  const at = wallClockMs()
  if (json) {
    print(JSON.stringify({ at, total, buckets }, null, every === undefined ? 2 : 0))
    return
  }
  print(renderTopTable(buckets, at))
  if (buckets.length < total) {
    note(`${formatCount(buckets.length)} of ${formatCount(total)} buckets; --count for more`)
  }
}

function placeOf({ url, redis = '', name }: Flags): string {
  return url === undefined ? `${name} at ${showRedisUrl(redis)}` : new URL(url).host
}
