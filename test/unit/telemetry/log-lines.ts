import { createLog, type Log, type LogOptions } from '../../../src/telemetry/log.ts'

/** A log whose lines are kept. */
export class LogLines {
  readonly log: Log
  /** As they were written, each with the end of its line. */
  readonly written: string[] = []

  constructor(options: LogOptions = {}) {
    this.log = createLog(options, { write: (line: string) => void this.written.push(line) })
  }

  /** Each line read as JSON; one that is not fails the test. */
  get lines(): Record<string, unknown>[] {
    return this.written.map((line) => {
      if (!/^[^\n\r]*\n$/.test(line)) throw new Error(`not one line: ${JSON.stringify(line)}`)
      return JSON.parse(line)
    })
  }

  /** The only line there is. */
  get line(): Record<string, unknown> {
    if (this.written.length !== 1) throw new Error(`${this.written.length} lines`)
    return this.lines[0]!
  }
}
