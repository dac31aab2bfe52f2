import { setTimeout as sleep } from 'node:timers/promises'
import { Command } from 'commander'
import { monotonicNow } from '../../core/clock.ts'
import { quote } from '../../core/describe.ts'
import { InvalidInputError, InvalidOptionsError, isVelvetRopeError } from '../../core/errors.ts'
import { type Admission, jsonRefusal } from '../../core/job.ts'
import type { Costs } from '../../core/usage.ts'
import type { EnqueueOptions, ShaperOptions } from '../../shaper/options.ts'
import { Shaper } from '../../shaper/shaper.ts'
import { MOST_JOBS } from '../api/client.ts'
import { showText } from '../display-text.ts'
import { EXIT } from '../exit.ts'
import { readChunks } from '../files.ts'
import { parseJson } from '../json-text.ts'
import {
  addLimitOptions,
  addLineOptions,
  checkLineName,
  type LineFlags,
  openService,
  readShaperOptions,
} from '../line-flags.ts'
import { costsFlag, formatCount, formatSeconds, wholeNumber } from '../numbers.ts'
import { awaitAnswer, Progress } from '../progress.ts'
import { note, paint, print } from '../terminal.ts'
import { readJobLines } from './job-lines.ts'
import { type Enqueuer, enqueueLines, LONGEST_SLEEP_MS, retryDelayMs } from './lines.ts'
import { EnqueueTally } from './tally.ts'

interface Flags extends LineFlags {
  readonly id?: string
  readonly cost?: number
  readonly costOf?: Costs
  readonly deadline?: number
  readonly attempts?: number
  readonly wait?: true
  readonly skipInvalid?: true
  readonly json?: true
}

/** A shaper or a service, as far as enqueue needs it. */
interface Producer extends Enqueuer {
  enqueue(key: string, data: unknown, options: EnqueueOptions): Promise<Admission>
  close(): Promise<void>
}

type OpenShaper = (name: string, options: ShaperOptions) => Shaper

const YEAR_MS = 366 * 86_400_000
/** The number of invalid lines to show; further ones are only counted. */
const SHOWN_INVALID = 20

const EXAMPLE = `
Examples:
  velvet-rope enqueue +15551234 '{"text":"hello"}' --redis redis://127.0.0.1:6379 --name sms --limit '100, 10/s'
  velvet-rope enqueue --url http://127.0.0.1:7077 --wait < jobs.jsonl

  A line of jobs.jsonl: {"key":"+15551234","data":{"text":"hello"},"id":"order-7","cost":1,"deadlineMs":60000}`

/** `velvet-rope enqueue`: enqueues one job from arguments, or many from standard input. */
export function enqueueCommand(open: OpenShaper = (name, options) => new Shaper(name, options)): Command {
  const command = new Command('enqueue')
    .summary('enqueue a job, or JSON lines from standard input; exit 3 when rejected')
    .description(
      'Enqueues one job, or without <key> one for each JSON line of standard input, and prints the verdict. ' +
        '--cost, --cost-of, --deadline and --attempts are the defaults for such lines. The jobs go to a ' +
        'service (--url), or to Redis (--redis, --name, and the limits).\n\n' +
        'An invalid line ends the command with exit 2: neither it nor the lines after it are enqueued, nor those ' +
        'before it in the same batch; a message says how far the command came. ' +
        'Exits with 0 when all jobs were accepted, 3 when a job was rejected, 1 when there is no answer. ' +
        'Ctrl-C prints the progress so far and exits with 130.',
    )
    .argument('[key]', 'the bucket')
    .argument('[data]', 'the data for the handler, as JSON')
  return addLimitOptions(addLineOptions(command))
    .option('--id <id>', 'the id of the job; enqueueing it again repeats the first answer')
    .option('--cost <n>', 'the cost of the job in units of capacity and intervals', wholeNumber(1, 1e9))
    .option(
      '--cost-of <unit=n,...>',
      'what the job counts in quotas of other units, such as tokens=1200',
      costsFlag,
    )
    .option('--deadline <ms>', 'reject the job if it cannot depart within this time', wholeNumber(1, YEAR_MS))
    .option('--attempts <n>', 'how often its handler may be started', wholeNumber(1, 1_000))
    .option('--wait', 'while the line is full, retry after the given time until all jobs are accepted')
    .option('--skip-invalid', 'continue after an invalid line')
    .option('--json', 'print the answer as JSON')
    .addHelpText('after', EXAMPLE)
    .action(async (key: string | undefined, data: string | undefined, flags: Flags, self: Command) => {
      const value = checkArguments(key, data, flags)
      const producer = openService(flags, self) ?? (await openLine(flags, open))
      try {
        if (key === undefined) await enqueueInput(producer, flags)
        else await enqueueOne(producer, key, value, flags)
      } finally {
        await producer.close()
      }
    })
}

async function openLine(flags: Flags, open: OpenShaper): Promise<Producer> {
  const line = checkLineName(flags)
  return open(line.name, await readShaperOptions(line)).on('error', noteOther)
}

/** Reports background errors, except that Redis is unavailable, which calls report themselves. */
function noteOther(error: Error): void {
  if (!isVelvetRopeError(error, 'backend-unavailable')) note(error.message)
}

/** The data of the one job. @throws InvalidOptionsError or InvalidInputError */
function checkArguments(
  key: string | undefined,
  data: string | undefined,
  { id, skipInvalid }: Flags,
): unknown {
  if (key === undefined) {
    if (id === undefined) return undefined
    throw new InvalidOptionsError(
      'expected --id together with a <key>, got: neither key nor data; each line may have its own "id"',
    )
  }
  if (skipInvalid)
    throw new InvalidOptionsError(
      'expected --skip-invalid without a <key>: it is for lines of standard input',
    )
  if (data === undefined) {
    throw new InvalidOptionsError(
      `expected data as JSON after the key ${quote(key)}, such as '{"text":"hello"}', got: nothing`,
    )
  }
  const parsed = parseJson(data)
  if (parsed.ok) return parsed.value
  const at = { file: 'data', line: 1, column: parsed.column }
  throw new InvalidInputError(
    at,
    `expected JSON, such as '{"text":"hello"}' or '"hello"', got: ${quote(data)}`,
  )
}

async function enqueueOne(producer: Producer, key: string, data: unknown, flags: Flags): Promise<void> {
  const options = { id: flags.id, ...optionsOf(flags) }
  const ask = () => producer.enqueue(key, data, options)
  const admission = await (flags.wait ? enqueueUntilAccepted(ask) : awaitAnswer(ask()))
  print(flags.json ? jsonOf(admission) : describeVerdict(admission))
  if (!admission.accepted) process.exitCode = EXIT.rejected
}

/** Retries after the given time while the line is full, or while the service is overloaded. */
function enqueueUntilAccepted(ask: () => Promise<Admission>): Promise<Admission> {
  let state = 'waiting for an answer'
  const untilAccepted = async (): Promise<Admission> => {
    for (;;) {
      let afterMs: number | undefined
      try {
        const admission = await ask()
        if (admission.accepted || admission.reason !== 'full') return admission
        afterMs = admission.retryAfterMs
      } catch (error) {
        afterMs = retryDelayMs(error)
        if (afterMs === undefined) throw error
      }
      state = `no room yet, next try in ${formatSeconds(afterMs / 1_000)}`
      await sleep(Math.min(afterMs, LONGEST_SLEEP_MS))
    }
  }
  return new Progress().during(untilAccepted(), () => state)
}

async function enqueueInput(producer: Producer, flags: Flags): Promise<void> {
  if (process.stdin.isTTY) note('reading JSON lines from the terminal; Ctrl-D ends the input')
  const file = 'stdin'
  const tally = new EnqueueTally(monotonicNow)
  const progress = new Progress()
  const onInvalid =
    flags.skipInvalid &&
    ((error: InvalidInputError) => {
      if (++tally.invalid <= SHOWN_INVALID) note(error.message)
    })
  const batch = flags.url === undefined ? undefined : MOST_JOBS
  const batches = readJobLines(readChunks('-'), { file, defaults: optionsOf(flags), onInvalid, batch })
  const sumUp = () => {
    if (tally.invalid > SHOWN_INVALID) note(`... and ${formatCount(tally.invalid - SHOWN_INVALID)} more`)
    print(flags.json ? JSON.stringify(tally.toJson()) : tally.summary())
  }
  const onInterrupt = () => {
    progress.done()
    note(`interrupted; ${describeStop(tally)}`)
    sumUp()
    process.exit(EXIT.interrupted)
  }
  process.once('SIGINT', onInterrupt)
  try {
    const work = enqueueLines(producer, batches, tally, { file, wait: flags.wait === true, onInvalid })
    await progress.during(work, () => tally.progress())
  } catch (error) {
    note(describeStop(tally))
    throw error
  } finally {
    process.off('SIGINT', onInterrupt)
  }
  sumUp()
  if (tally.rejections > 0) process.exitCode = EXIT.rejected
}

/** Describes the progress so far. Jobs that were sent without an answer may have been accepted. */
function describeStop({ accepted, settledLine, inFlight }: EnqueueTally): string {
  if (settledLine === 0 && inFlight === undefined) return 'nothing was enqueued'
  const before = settledLine === 0 ? 'none' : `${formatCount(accepted)}, of lines 1 to ${settledLine}`
  if (inFlight === undefined) {
    return `accepted so far: ${before}; nothing after line ${settledLine} was enqueued`
  }
  const [first, last] = inFlight
  return `accepted so far: ${before}; lines ${first} to ${last} may have been accepted: those with an "id" can be sent again`
}

function jsonOf(admission: Admission): string {
  return JSON.stringify(admission.accepted ? admission : jsonRefusal(admission))
}

function optionsOf({ cost, costOf, deadline, attempts }: Flags): EnqueueOptions {
  return { cost, costs: costOf, deadlineMs: deadline, attempts }
}

function describeVerdict(admission: Admission): string {
  if (admission.accepted) {
    const { id, position, waitMs, isEstimate, replayed, uncounted = [] } = admission
    const about = isEstimate ? 'about ' : ''
    const when = waitMs <= 0 ? 'departs now' : `departs in ${about}${formatSeconds(waitMs / 1_000)}`
    const ignored = uncounted.length === 0 ? '' : `; no quota of the limit counts ${uncounted.join(' or ')}`
    return `${paint('green', 'accepted')}  ${id}: position ${position}, ${when}${replayed ? ' (repeated answer)' : ''}${ignored}`
  }
  const { reason, retryAfterMs, waiting, capacity, quota, at, local } = admission
  const ofTotal = at === undefined ? '' : ` of ${showText(at)}`
  const again = Number.isFinite(retryAfterMs)
    ? `retry in ${formatSeconds(retryAfterMs / 1_000)}`
    : quota === undefined
      ? `the cost exceeds the capacity${ofTotal}`
      : `the job alone exceeds the quota of ${quota}${ofTotal}`
  const of = `${formatCount(waiting)} of ${formatCount(capacity)}`
  const below = at === undefined ? '' : ` below ${showText(at)}`
  const taken = local ? `${of} of the service's local limit are taken` : `${of} waiting${below}`
  return `${paint('red', 'rejected')}  ${reason}: ${taken}; ${again}`
}
