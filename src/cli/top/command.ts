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
  s  S  sort            f  only those at least 50, 80 or 100 % full
  r  reverse the order  Esc  all again

Examples:
  velvet-rope top --url http://127.0.0.1:7077
  velvet-rope top stripe/ --min-fill 80 --sort oldest --redis redis://127.0.0.1:6379 --name sms
  velvet-rope top --url http://127.0.0.1:7077 --json --every 10 >> buckets.jsonl`

/** `velvet-rope top`: live buckets. */
export function topCommand(): Command {
  const command = new Command('top')
    .summary('live buckets in the terminal: fill, waits, next departures; filter and sort by keys')
    .description(
      'Shows the live buckets of a running line: that of a service (--url), or in Redis (--redis, --name). ' +
        'On a terminal the picture lives until q is pressed; elsewhere it is one table. With --json it is one JSON ' +
        'document, { at, total, buckets }, and with --every a line of JSON each time, until it is interrupted.',
    )
    .argument('[prefix]', 'only buckets whose keys begin with this', '')
  return addLineOptions(command)
    .option('--min-fill <percent>', 'only buckets at least this full', percentage, 0)
    .addOption(new Option('--sort <column>', 'what stands first').choices(SORT_COLUMNS).default('fill'))
    .option('--reverse', 'the other way around')
    .option('--count <n>', 'the most buckets of a table or of JSON', wholeNumber(1, 1_000_000), 100)
    .option('--every <s>', 'seconds between two looks (default: 1 on a terminal)', positiveNumber(DAY_S))
    .addOption(new Option('--once', 'one table, also on a terminal').conflicts('every'))
    .option('--json', 'the answer as JSON')
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
  if (!json && !once && isLively()) return live(lister, state, flags)
  const read = () => awaitAnswer(readTop(lister, queryOf(state), flags.count))
  if (every === undefined) return show(await read(), flags)
  for (;;) {
    show(await read(), flags)
    await sleep(every * 1_000)
    if (!json) print('')
  }
}

/** Whether there is a person with a keyboard and a terminal that can be drawn on. */
function isLively(): boolean {
  return process.stdout.isTTY === true && process.stdin.isTTY === true && process.env['TERM'] !== 'dumb'
}

async function live(lister: BucketLister, state: TopState, flags: Flags): Promise<void> {
  const screen = new FullScreen()
  // Before the screen is taken, so that what is wrong is told where it stays.
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
