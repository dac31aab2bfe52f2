import { Command } from 'commander'
import { quote } from '../core/describe.ts'
import { formatDuration, MILLISECOND, parseDuration } from '../core/duration.ts'
import { checkKey } from '../core/key.ts'
import { showText } from './display-text.ts'
import { EXIT } from './exit-codes.ts'
import { openKnownLine } from './known-line.ts'
import { addPlaceOptions, openService, type PlaceFlags } from './line-or-service.ts'
import { awaitAnswer } from './progress.ts'
import { note, print } from './terminal.ts'

interface Flags extends PlaceFlags {
  readonly json?: true
}

/** What holds buckets: a service, or a line in Redis. */
interface Holder {
  freeze(key: string, forMs: number): Promise<void>
  unfreeze(key: string): Promise<boolean>
  pause(key: string): Promise<void>
  resume(key: string): Promise<void>
  close(): Promise<void>
}

const KEY = "the bucket, such as 'stripe/acct_42'"

/** `velvet-rope freeze`: no departures of a bucket for a while. */
export function freezeCommand(): Command {
  const summary = 'no departures of a bucket for a while; a shorter freeze never shortens a longer one'
  return holding('freeze', summary, 'freeze stripe/acct_42 5m --url http://127.0.0.1:7077')
    .argument('<key>', KEY)
    .argument('<duration>', "for how long, such as 30s, 5m or '1h 30m'")
    .action(async (key: string, duration: string, flags: Flags, command: Command) => {
      checkKey(key)
      const length = parseDuration(duration)
      const forMs = length / MILLISECOND
      await useHolder(flags, command, (holder) => holder.freeze(key, forMs))
      tell(flags, { key, forMs }, `frozen  ${showText(key)}  ${formatDuration(length)}`)
    })
}

/** `velvet-rope unfreeze`: lifts a freeze before its end. */
export function unfreezeCommand(): Command {
  const summary = 'lift the freeze of a bucket before its end; exit 1 if it was not frozen'
  return holding('unfreeze', summary, 'unfreeze stripe/acct_42 --redis redis://127.0.0.1:6379 --name sms')
    .argument('<key>', KEY)
    .action(async (key: string, flags: Flags, command: Command) => {
      checkKey(key)
      const wasFrozen = await useHolder(flags, command, (holder) => holder.unfreeze(key))
      if (!wasFrozen) process.exitCode = EXIT.failure
      if (wasFrozen || flags.json) tell(flags, { key, wasFrozen }, `unfrozen  ${showText(key)}`)
      else note(`${quote(key)} is not frozen`)
    })
}

/** `velvet-rope pause`: no departures of a bucket until it is resumed. */
export function pauseCommand(): Command {
  return pausing('pause', 'no departures of a bucket until it is resumed; its line still fills up', true)
}

/** `velvet-rope resume`: ends a pause. */
export function resumeCommand(): Command {
  return pausing('resume', 'end the pause of a bucket; departures go on at the rate', false)
}

function pausing(verb: 'pause' | 'resume', summary: string, paused: boolean): Command {
  return holding(verb, summary, `${verb} stripe/acct_42 --url http://127.0.0.1:7077`)
    .argument('<key>', KEY)
    .action(async (key: string, flags: Flags, command: Command) => {
      checkKey(key)
      await useHolder(flags, command, (holder) => holder[verb](key))
      tell(flags, { key, paused }, `${verb}d  ${showText(key)}`)
    })
}

function holding(verb: string, summary: string, example: string): Command {
  const description = `${summary[0]!.toUpperCase()}${summary.slice(1)}. Asks a service (--url), or Redis (--redis, --name).`
  return addPlaceOptions(new Command(verb).summary(summary).description(description))
    .option('--json', 'the answer as JSON')
    .addHelpText('after', `\nExample:\n  velvet-rope ${example}`)
}

async function useHolder<Answer>(
  flags: Flags,
  command: Command,
  work: (holder: Holder) => Promise<Answer>,
): Promise<Answer> {
  const holder: Holder = openService(flags, command) ?? (await awaitAnswer(openKnownLine(flags)))
  try {
    return await awaitAnswer(work(holder))
  } finally {
    await holder.close()
  }
}

function tell({ json }: Flags, answer: object, text: string): void {
  print(json ? JSON.stringify(answer) : text)
}
