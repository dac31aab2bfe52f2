import { openSync, readFileSync, writeSync } from 'node:fs'

/** What a process of a product saw; `at` is milliseconds of the machine's monotonic clock, which all processes share. */
export interface Sighting {
  readonly what: 'accepted' | 'started' | 'ended'
  readonly id: number
  readonly at: number
}

export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

/** A line is in the file when this returns: SIGKILL loses none. */
export function openRecord(path: string): (what: Sighting['what'], id: number, at?: number) => void {
  const file = openSync(path, 'a')
  return (what, id, at = monotonicMs()) => void writeSync(file, `${JSON.stringify({ what, id, at })}\n`)
}

export function readRecord(path: string): Sighting[] {
  const lines = readFileSync(path, 'utf8').split('\n')
  return lines.slice(0, -1).map((line) => JSON.parse(line))
}
