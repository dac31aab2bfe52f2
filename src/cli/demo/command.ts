import { Command } from 'commander'
import { ACCOUNTS } from '../../demo/account.ts'
import { type DemoOptions, runDemo } from '../../demo/demo.ts'
import { renderDemo } from '../../demo/demo-picture.ts'
import { problemsOf } from '../../demo/verdict.ts'
import { writeText } from '../files.ts'
import { positiveNumber } from '../numbers.ts'
import { paint, print } from '../terminal.ts'
import { demoReport } from './report.ts'
import { openDemoView } from './view.ts'

interface Flags {
  readonly seconds: number
  readonly svg: string
  readonly redis?: string
}

/** Seconds that every demo takes, and seconds that each round of bursts adds, without and with velvet-rope together. */
const [ALWAYS, EACH_CYCLE] = [6, 5]

const EXAMPLE = `
Example:
  velvet-rope demo --redis redis://127.0.0.1:6379`

/** `velvet-rope demo`: the same bursts to a strict API, without and with velvet-rope. */
export function demoCommand(
  { accounts, slack }: Pick<DemoOptions, 'accounts' | 'slack'> = { accounts: ACCOUNTS, slack: 0.1 },
): Command {
  return new Command('demo')
    .summary('send bursts to a strict API on loopback, without and with velvet-rope')
    .description(
      'Starts an API on loopback that answers 429 when two calls of one account come closer than their interval ' +
        'less 10 %. Sends bursts of jobs directly to it, then the same bursts through velvet-rope. Then two tenants share ' +
        'one account, and one of them floods: with one line for the account, and with a total that shares it.\n\n' +
        'With --redis the line is in a Redis, between two processes that enqueue and two that call the API; its keys ' +
        'there have a name of their own and are removed at the end, and the tenants are left out. Without --redis ' +
        'everything is in one process.\n\n' +
        'Exits with 1 if a guarantee was broken, or if a call through velvet-rope was answered 429.',
    )
    .option('--seconds <n>', 'the approximate duration', positiveNumber(600), 10)
    .option('--svg <file>', 'the file for the picture', 'demo.svg')
    .option('--redis <url>', 'keep the line in this Redis')
    .addHelpText('after', EXAMPLE)
    .action(async ({ seconds, svg, redis }: Flags) => {
      const cycles = Math.max(1, Math.round((seconds - ALWAYS) / EACH_CYCLE))
      const result = await runDemo({ accounts, cycles, slack, redis }, openDemoView())
      if (problemsOf(result).length > 0) process.exitCode = 1
      print(`\n${demoReport(result)}`)
      await writeText(svg, renderDemo(result))
      print(`${paint('gray', 'picture:')} ${svg}`)
    })
}
