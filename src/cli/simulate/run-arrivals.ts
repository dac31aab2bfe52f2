import { SECOND } from '../../core/duration.ts'
import type { Arrival, ArrivalBatches } from '../../simulate/arrival.ts'
import { departuresHeader, type FurtherColumns, formatDeparture } from '../../simulate/departures-csv.ts'
import type { OnOutcome, SimulatedLines } from '../../simulate/simulation.ts'
import { OutputFile } from '../files.ts'
import { formatCount } from '../numbers.ts'
import { Progress } from '../progress.ts'

interface Ran {
  readonly simulation: SimulatedLines
  /** The units that an arrival named. */
  readonly named: ReadonlySet<string>
}

/** Which arrivals count, and where their outcomes go. */
interface Wanted {
  readonly key?: string
  readonly from: number
  readonly to?: number
  readonly start?: number
  readonly out?: string
}

/**
 * Runs arrivals through the lines that `open` opens, and writes what became of each.
 *
 * @param others get the same arrivals
 */
export async function runArrivals(
  open: (onOutcome?: OnOutcome) => SimulatedLines,
  others: readonly { offer(arrival: Arrival): unknown; finish?(): void }[],
  arrivals: ArrivalBatches,
  { key, from, to = Number.POSITIVE_INFINITY, start = 0, out }: Wanted,
  columns: FurtherColumns,
): Promise<Ran> {
  const output = out === undefined ? undefined : await OutputFile.open(out)
  const progress = new Progress()
  const isWanted = (arrival: Arrival): boolean =>
    (key === undefined || arrival.key === key) && arrival.at >= from * SECOND && arrival.at < to * SECOND
  const named = new Set<string>()
  let rows = ''
  const write = async () => {
    await output?.write(rows)
    rows = ''
  }
  const simulation = open(
    output &&
      ((arrival, outcome) => {
        rows += formatDeparture(arrival, outcome, columns)
      }),
  )
  let count = 0
  try {
    await output?.write(departuresHeader(columns))
    for await (const batch of arrivals) {
      for (const given of batch) {
        if (!isWanted(given)) continue
        const arrival = start === 0 ? given : { ...given, at: given.at + start * SECOND }
        simulation.offer(arrival)
        for (const unit in arrival.costs) named.add(unit)
        for (const other of others) other.offer(arrival)
      }
      await write()
      count += batch.length
      progress.update(`${formatCount(count)} arrivals`)
    }
    for (const each of [simulation, ...others]) each.finish?.()
    await write()
    await output?.commit()
    return { simulation, named }
  } catch (error) {
    await output?.discard()
    throw error
  } finally {
    progress.done()
  }
}
