import type { Log, LogLevel } from '../../../src/telemetry/log.ts'

export interface Line {
  readonly level: string
  readonly message: string
  readonly fields: Readonly<Record<string, unknown>>
}

/** A log that only remembers. */
export function memorableLog(): { readonly log: Log; readonly lines: Line[] } {
  const lines: Line[] = []
  const write =
    (level: string) =>
    (message: string, fields: Readonly<Record<string, unknown>> = {}) =>
      void lines.push({ level, message, fields })
  const log: Log = {
    level: 'debug' as LogLevel,
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    isEnabled: () => true,
    with: () => log,
  }
  return { log, lines }
}
