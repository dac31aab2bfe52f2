import { Command, Option } from 'commander'
import { quote } from '../../core/describe.ts'
import { MILLISECOND } from '../../core/duration.ts'
import { InvalidOptionsError } from '../../core/errors.ts'
import { checkKey } from '../../core/key.ts'
import { formatLimit } from '../../core/limit-format.ts'
import { isRolling } from '../../core/quota.ts'
import type { RuleBook } from '../../core/rule-book.ts'
import type { ArrivalBatches } from '../../simulate/arrival.ts'
import { Comparison, comparedPolicies } from '../../simulate/comparison.ts'
import { renderComparison } from '../../simulate/comparison-picture.ts'
import { checkColumnsOf } from '../../simulate/departures-csv.ts'
import { generateArrivals, PATTERNS, type Pattern } from '../../simulate/generate-arrivals.ts'
import { OneLine } from '../../simulate/one-line.ts'
import { openSimulation } from '../../simulate/open-simulation.ts'
import { readArrivals } from '../../simulate/read-arrivals.ts'
import { renderShares } from '../../simulate/shares-picture.ts'
import type { OnOutcome } from '../../simulate/simulation.ts'
import { renderSimulation } from '../../simulate/simulation-picture.ts'
import { UnreadNames } from '../../simulate/unread-names.ts'
import { checkDistinct, inputName, readChunks, writeText } from '../files.ts'
import {
  type LimitFlags,
  nameTotals,
  readLimits,
  readOtherLimits,
  unitsOf,
  withoutTotals,
} from '../limits-file.ts'
import { EPOCH_S, formatCount, moment, offset, positiveNumber, wholeNumber } from '../numbers.ts'
import { note, print } from '../terminal.ts'
import { againstReport } from './against-report.ts'
import { compareReport } from './compare-report.ts'
import { oneLineReport } from './one-line-report.ts'
import { simulateReport } from './report.ts'
import { runArrivals } from './run-arrivals.ts'
import { totalsReport } from './totals-report.ts'

interface Flags extends LimitFlags {
  readonly arrivals?: string
  readonly pattern?: Pattern
  readonly seconds: number
  readonly rate: number
  readonly keys: number
  readonly prefix?: string
  readonly seed: number
  readonly key?: string
  readonly handlerMs?: number
  readonly from: number
  readonly to?: number
  readonly start?: number
  readonly against?: string
  readonly compare?: true | 'fifo'
  readonly subBuckets: number
  readonly json?: true
  readonly out?: string
  readonly svg?: string
}

/** `--compare [fifo]` may have taken the word after it, the file of arrivals, for its own. */
type GivenFlags = Omit<Flags, 'compare'> & { readonly compare?: true | string }

/** `velvet-rope simulate`: runs arrivals through limits in virtual time. */
export function simulateCommand(): Command {
  return new Command('simulate')
    .summary('run arrivals through a limit in virtual time: accepted, rejected, waits, a picture')
    .description(
      'Tries a limit on recorded or generated arrivals, in virtual time, with the same algorithm as a shaper.\n\n' +
        'Arrivals are CSV with a header, offset_s,key[,cost], or JSON lines with the same names, in the order of time.\n' +
        'What a job counts in quotas of other units is a further column: one of that name, such as tokens, or costs for all,\n' +
        'as in tokens=1200.\n' +
        'Quotas of a calendar take offset 0 for the beginning of 1970, in UTC, or for --start.\n' +
        'velvet-rope serve --record writes such a file.\n' +
        'Under limits with totals it says what each child got of its family, and how long it waited.\n' +
        'A limits file is JSON, { "<pattern>": "<capacity>, <rate>", ... }, or a velvet-rope.yaml.',
    )
    .argument('[file]', 'the arrivals, as in --arrivals')
    .addOption(
      new Option('-a, --arrivals <file>', 'CSV or JSON lines; - for standard input').conflicts('pattern'),
    )
    .option('-l, --limit <limit>', "capacity and rate of every key, such as '20, 1/s'")
    .option('--limits <file>', 'limits by pattern, as JSON, or those of a velvet-rope.yaml')
    .addOption(new Option('--pattern <name>', 'generate arrivals').choices(PATTERNS))
    .option('--seconds <n>', 'duration of a pattern', positiveNumber(1e6), 60)
    .option('--rate <n>', 'arrivals per second of a pattern, of all keys together', positiveNumber(1e6), 10)
    .option('--keys <n>', 'keys of a pattern', wholeNumber(1, 1e7), 1)
    .option('--prefix <text>', "how the keys of a pattern begin, such as 'stripe/' for those of one family")
    .option(
      '--seed <n>',
      'seed of a pattern; the same seed gives the same arrivals',
      wholeNumber(0, 2 ** 32 - 1),
      1,
    )
    .option(
      '--handler-ms <n>',
      "how long a handler holds its place, for limits with 'at once'",
      positiveNumber(1e9),
    )
    .option('--key <key>', 'only the arrivals of this key')
    .option('--from <s>', 'only arrivals from this offset on, in seconds', offset, 0)
    .option('--to <s>', 'only arrivals before this offset, in seconds', offset)
    .option('--start <time>', 'when offset 0 is, such as 2026-03-29T00:00:00Z', moment)
    .addOption(
      new Option(
        '--against <limits>',
        'compare with other limits: a file, or a limit of every key',
      ).conflicts('compare'),
    )
    .option(
      '--compare [fifo]',
      'compare with other policies; fifo: totals with one line for each family, first come first served',
    )
    .option('--sub-buckets <n>', 'slices of the sliding window of --compare', wholeNumber(1, 1_000), 10)
    .option('--json', 'print the answer as JSON')
    .option('--out <file>', 'write each arrival with its verdict and departure as CSV')
    .option('--svg <file>', 'write a picture')
    .action(simulate)
}

async function simulate(file: string | undefined, given: GivenFlags): Promise<void> {
  const flags = withFile(file, given)
  const { arrivals, against } = flags
  checkDistinct({ arrivals, limits: flags.limits, out: flags.out, svg: flags.svg })
  const limits = await readLimits(flags)
  const otherLimits = against === undefined ? undefined : await readOtherLimits(against)
  const { ofKeys, totals } = withoutTotals(limits)
  if (flags.compare === 'fifo' && totals.length === 0) {
    throw new InvalidOptionsError(
      "--compare fifo: expected limits with a total, such as 'stripe/', got: none",
    )
  }
  const handlerTime = (flags.handlerMs ?? 0) * MILLISECOND
  const policies = comparedPolicies(flags.subBuckets, handlerTime)
  const comparison = flags.compare === true ? new Comparison(ofKeys, policies) : undefined
  const oneLine = flags.compare === 'fifo' ? new OneLine(limits, handlerTime) : undefined
  const other = otherLimits && openSimulation(otherLimits, handlerTime)
  const books = [limits, otherLimits].filter(isThere)
  const units = unitsOf(books)
  if (flags.out !== undefined) checkColumnsOf(units)
  const columns = { units, handlerTime: flags.handlerMs === undefined ? undefined : handlerTime }
  const others = [comparison, oneLine, other].filter(isThere)
  const unread = new UnreadNames(units)
  const open = (onOutcome?: OnOutcome) => openSimulation(limits, handlerTime, onOutcome)
  const { simulation, named } = await runArrivals(
    open,
    others,
    openArrivals(flags, units, unread),
    flags,
    columns,
  )

  for (const sentence of unread.notes()) note(sentence)
  if (comparison !== undefined && totals.length > 0) {
    note(
      `the policies of --compare take each key by itself, as if there were no ${nameTotals(totals)}; --compare fifo compares totals`,
    )
  }

  const summary = simulation.summary()
  if (books.some(hasCalendar) && (summary.firstArrivalS ?? EPOCH_S) < EPOCH_S) {
    note('quotas of a calendar take offset 0 for 1970-01-01T00:00:00Z: say with --start when it is')
  }
  if (flags.svg !== undefined) {
    const drawAlone = () => simulation.spread && renderSimulation(simulation.spread, summary, limits)
    const picture = comparison
      ? renderComparison(comparison, ofKeys, summary.keys)
      : oneLine
        ? renderShares(oneLine.book, simulation.families!)
        : drawAlone()
    if (picture === undefined) {
      const what = oneLine ? 'no job below a total started' : 'no arrivals'
      throw new InvalidOptionsError(`${what}, so there is nothing to draw`)
    }
    await writeText(flags.svg, picture)
  }
  if (flags.json) {
    const compared = comparison && { compared: comparison.results(), leftOut: comparison.leftOut }
    const further = {
      ...(oneLine && { oneLine: oneLine.book.summaries() }),
      ...(other && { against: other.summary() }),
    }
    print(JSON.stringify({ ...summary, ...compared, ...further }, null, 2))
    return
  }
  if (other !== undefined) {
    const [name, otherName] = [flags.limits ?? flags.limit ?? '', against ?? '']
    print(againstReport({ name, summary }, { name: otherName, summary: other.summary() }))
  } else {
    print(simulateReport(summary, simulation.spread, limitText(limits)))
    const ofTotals = oneLine ? oneLineReport(oneLine.book.summaries(), summary) : totalsReport(summary)
    if (ofTotals !== '') print(`\n${ofTotals}`)
  }
  if (flags.handlerMs === undefined && books.some(hasPlaces)) {
    note('places are taken as free at once: say with --handler-ms how long handlers take')
  }
  for (const unit of units.filter((unit) => !named.has(unit)))
    note(`no arrival has ${unit}: each job counts as many as its limit says`)
  if (comparison !== undefined) {
    const [first, ...further] = ofKeys.list()
    print(`\n${compareReport(comparison, policies, first!.limit)}`)
    if (further.length > 0)
      print(`The mappings are for keys under ${first!.pattern}; other keys use their own limits.`)
  }
}

function hasPlaces(limits: RuleBook): boolean {
  return limits.list().some(({ limit }) => Number.isFinite(limit.concurrency))
}

function hasCalendar(limits: RuleBook): boolean {
  return limits.list().some(({ limit }) => limit.quotas.some(({ window }) => !isRolling(window)))
}

/** The file of arrivals may be given with or without its flag; also right after `--compare`, which may stand alone. */
function withFile(named: string | undefined, { compare, ...given }: GivenFlags): Flags {
  const isFile = typeof compare === 'string' && compare !== 'fifo'
  if (isFile && named !== undefined) {
    throw new InvalidOptionsError(`expected --compare alone or --compare fifo, got: ${quote(compare)}`)
  }
  const file = isFile ? compare : named
  const compared = isFile ? true : (compare as Flags['compare'])
  const flags: Flags = { ...given, ...(compared !== undefined && { compare: compared }) }
  if (file === undefined) return flags
  const { arrivals, pattern } = flags
  if (arrivals === undefined && pattern === undefined) return { ...flags, arrivals: file }
  const other = pattern === undefined ? '--arrivals' : '--pattern'
  throw new InvalidOptionsError(`expected either a file of arrivals or ${other}, got: both`)
}

function isThere<Value>(value: Value | undefined): value is Value {
  return value !== undefined
}

function openArrivals(flags: Flags, units: readonly string[], unread: UnreadNames): ArrivalBatches {
  const { arrivals, pattern } = flags
  if (arrivals !== undefined) return readArrivals(inputName(arrivals), readChunks(arrivals), units, unread)
  if (pattern !== undefined) {
    checkKey(`${flags.prefix ?? ''}key-${flags.keys}`, 'keys that --prefix and --keys make')
    return generateArrivals({ ...flags, pattern })
  }
  throw new InvalidOptionsError(`expected --arrivals <file>, or --pattern ${PATTERNS.join(' | ')}`)
}

function limitText(limits: RuleBook): string {
  const rules = limits.list()
  return rules.length === 1 ? formatLimit(rules[0]!.limit) : `${formatCount(rules.length)} limits`
}
