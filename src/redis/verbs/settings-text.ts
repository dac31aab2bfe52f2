import { quote } from '../../core/describe.ts'
import { ForeignValueError } from '../../core/errors.ts'
import type { JobSettings } from '../../core/job.ts'
import type { Costs } from '../../core/usage.ts'
import type { Retention } from '../../line/options.ts'

/**
 * How a job is run, as a short text that is kept with every job: `3,x,1000,60000,0.5,600000`; and behind a space what it costs in
 * named units, if it names any: `3,x,1000,60000,0.5,600000 {"tokens":1200}`.
 */
export function encodeSettings({ attempts, backoff, timeoutMs }: JobSettings, costs?: Costs): string {
  const type = backoff.type === 'exponential' ? 'x' : 'f'
  const settings = [attempts, type, backoff.delayMs, backoff.maxDelayMs, backoff.jitter, timeoutMs].join(',')
  return settings + costsText(costs)
}

/** The named costs as `encodeSettings` adds them. */
export function costsText(costs: Costs | undefined): string {
  return costs === undefined || Object.keys(costs).length === 0 ? '' : ` ${JSON.stringify(costs)}`
}

/** The named costs of a job, if it names any. */
export function decodeCosts(text: string): Costs | undefined {
  const at = text.indexOf(' ')
  return at === -1 ? undefined : JSON.parse(text.slice(at + 1))
}

/** @throws ForeignValueError when the text is of a version that this one does not know */
export function decodeSettings(text: string): JobSettings {
  const [settings] = text.split(/[~ ]/, 1)
  const [attempts, type, delayMs, maxDelayMs, jitter, timeoutMs, ...rest] = settings!.split(',')
  const numbers = [attempts, delayMs, maxDelayMs, jitter, timeoutMs].map(Number)
  if (!numbers.every(Number.isFinite) || (type !== 'x' && type !== 'f') || rest.length > 0) {
    throw new ForeignValueError(`expected the settings of a job, got: ${quote(text)}`)
  }
  return {
    attempts: numbers[0]!,
    backoff: {
      type: type === 'x' ? 'exponential' : 'fixed',
      delayMs: numbers[1]!,
      maxDelayMs: numbers[2]!,
      jitter: numbers[3]!,
    },
    timeoutMs: numbers[4]!,
  }
}

/** How many ended jobs the scripts remember: `read_keep` reads it. */
export function keepText({ jobs, time, most }: Retention): string {
  return [jobs, time, most].join(' ')
}
