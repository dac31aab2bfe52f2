import { Command } from 'commander'
import { quote } from '../core/describe.ts'
import { formatDuration, MILLISECOND, parseDuration } from '../core/duration.ts'
import { checkKey } from '../core/key.ts'
import { showText } from './display-text.ts'
import { useLine } from './existing-line.ts'
import { EXIT } from './exit.ts'
import { addLineOptions, type LineFlags } from './line-flags.ts'
import { note, print } from './terminal.ts'

interface Flags extends LineFlags {
  readonly json?: true
}

const KEY = "the bucket, such as 'stripe/acct_42'"

/** `velvet-rope freeze`: stops the departures of a bucket for a while. */
export function freezeCommand(): Command {
  const summary = 'stop the departures of a bucket for a while; a shorter freeze never shortens a longer one'
  return holdCommand('freeze', summary, 'freeze stripe/acct_42 5m --url http://127.0.0.1:7077')
    .argument('<key>', KEY)
    .argument('<duration>', "for how long, such as 30s, 5m or '1h 30m'")
    .action(async (key: string, duration: string, flags: Flags, command: Command) => {
      checkKey(key)
      const length = parseDuration(duration)
      const forMs = length / MILLISECOND
      await useLine(flags, command, (line) => line.freeze(key, forMs))
      report(flags, { key, forMs }, `frozen  ${showText(key)}  ${formatDuration(length)}`)
    })
}

/** `velvet-rope unfreeze`: ends a freeze early. */
export function unfreezeCommand(): Command {
  const summary = 'end the freeze of a bucket early; exit 1 if it was not frozen'
  return holdCommand('unfreeze', summary, 'unfreeze stripe/acct_42 --redis redis://127.0.0.1:6379 --name sms')
    .argument('<key>', KEY)
    .action(async (key: string, flags: Flags, command: Command) => {
      checkKey(key)
      const wasFrozen = await useLine(flags, command, (line) => line.unfreeze(key))
      if (!wasFrozen) process.exitCode = EXIT.failure
      if (wasFrozen || flags.json) report(flags, { key, wasFrozen }, `unfrozen  ${showText(key)}`)
      else note(`${quote(key)} is not frozen`)
    })
}

/** `velvet-rope pause`: stops the departures of a bucket until it is resumed. */
export function pauseCommand(): Command {
  return pauseOrResume(
    'pause',
    'stop the departures of a bucket until it is resumed; its line still fills up',
    true,
  )
}

/** `velvet-rope resume`: ends a pause. */
export function resumeCommand(): Command {
  return pauseOrResume('resume', 'end the pause of a bucket; departures continue at the rate', false)
}

function pauseOrResume(verb: 'pause' | 'resume', summary: string, paused: boolean): Command {
  return holdCommand(verb, summary, `${verb} stripe/acct_42 --url http://127.0.0.1:7077`)
    .argument('<key>', KEY)
    .action(async (key: string, flags: Flags, command: Command) => {
      checkKey(key)
      await useLine(flags, command, (line) => line[verb](key))
      report(flags, { key, paused }, `${verb}d  ${showText(key)}`)
    })
}

function holdCommand(verb: string, summary: string, example: string): Command {
  const description = `${summary[0]!.toUpperCase()}${summary.slice(1)}. Asks a service (--url) or Redis (--redis, --name).`
  return addLineOptions(new Command(verb).summary(summary).description(description))
    .option('--json', 'print the answer as JSON')
    .addHelpText('after', `\nExample:\n  velvet-rope ${example}`)
}

function report({ json }: Flags, answer: object, text: string): void {
  print(json ? JSON.stringify(answer) : text)
}
