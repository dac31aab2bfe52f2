import { styleText } from 'node:util'

type Format = Parameters<typeof styleText>[0]

/** Whether colours may be shown: only to a person, and not to one who set NO_COLOR (https://no-color.org). */
export function hasColour(stream: { readonly isTTY?: boolean }, env = process.env): boolean {
  return stream.isTTY === true && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb'
}

/** Data: the answer to the command, on standard output. */
export function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

/** Words about the work, on standard error. */
export function note(text: string): void {
  process.stderr.write(`${text}\n`)
}

/** Colours text for standard output; in a pipe it stays as it is. */
export function paint(format: Format, text: string): string {
  // One rule decides: without this option Node adds its own, and leaves colours out wherever CI is set.
  return text !== '' && hasColour(process.stdout) ? styleText(format, text, { validateStream: false }) : text
}

/** Characters in a line of standard output; in a pipe, what most terminals show. */
export function terminalWidth(): number {
  // Some terminals say 0 when they do not know.
  return process.stdout.columns || 80
}
