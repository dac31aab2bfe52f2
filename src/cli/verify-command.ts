import { Command } from 'commander'
import type { Breach } from '../conformance/history.ts'
import { readDepartures } from '../simulate/read-departures.ts'
import { type Verification, verifyDepartures } from '../simulate/verify-departures.ts'
import { inputName, readChunks } from './files.ts'
import { type LimitFlags, readLimits, unitsOf } from './limits-file.ts'
import { formatCount } from './numbers.ts'
import { note, paint, print } from './terminal.ts'

interface Flags extends LimitFlags {
  readonly json?: true
}

/** `velvet-rope verify`: checks a departures file against the laws. */
export function verifyCommand(): Command {
  return new Command('verify')
    .summary('check a departures file against the laws; exit 1 with each breach and its numbers')
    .description(
      'Checks a departures file against the laws: bound (L1), spacing (L2), rate (L3), order (L4), nothing lost (L5),\n' +
        'and where the limits have them, quotas (L10), places (L11) and the shares of totals (L12). It says what it could not\n' +
        'check.\n\n' +
        'Reads the format of simulate --out, as CSV or JSON lines. For a file with only the columns key and departs_s\n' +
        '(and cost), it checks only the spacing, the quotas and the places. Further columns, which may be empty:\n' +
        'tokens, or another unit of a quota, or costs for all: what the job counts in it; tokens_settled with settled_s: what it really\n' +
        'counted, and when that was said; ends_s: when its handler ended, or its turn was released.',
    )
    .argument('<file>', 'CSV or JSON lines; - for standard input')
    .option('-l, --limit <limit>', "capacity and rate of every key, such as '20, 1/s'")
    .option('--limits <file>', 'limits by pattern, as JSON')
    .option('--json', 'print the answer as JSON')
    .action(verify)
}

async function verify(file: string, flags: Flags): Promise<void> {
  const limits = await readLimits(flags)
  const verification = verifyDepartures(
    await readDepartures(inputName(file), readChunks(file), unitsOf([limits])),
    limits,
  )
  if (verification.breaches.length > 0) process.exitCode = 1
  if (flags.json) {
    print(JSON.stringify({ ...verification, breaches: verification.breaches.map(toJson) }, null, 2))
    return
  }
  for (const breach of verification.breaches) print(`${paint('red', breach.law)}  ${breach.message}`)
  print(conclude(verification))
  for (const what of verification.unknown) note(what)
}

function conclude({ rows, keys, judged, breaches }: Verification): string {
  const what = `${formatCount(rows)} ${rows === 1 ? 'row' : 'rows'} of ${formatCount(keys)} ${keys === 1 ? 'key' : 'keys'}`
  const laws = judged.join(', ')
  if (breaches.length === 0) return `${paint('green', 'ok')}: ${what} keep ${laws}`
  const count = breaches.length === 1 ? '1 breach' : `${formatCount(breaches.length)} breaches`
  return `${paint('red', 'broken')}: ${count} in ${what}, checked for ${laws}`
}

function toJson({ law, at, key, id, message }: Breach) {
  return { law, atS: at / 1e6, key, row: id, message }
}
