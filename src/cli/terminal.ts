import { styleText } from 'node:util'

type Format = Parameters<typeof styleText>[0]

/** Whether to use colours: only on a terminal, and not with NO_COLOR (https://no-color.org). */
export function hasColour(stream: { readonly isTTY?: boolean }, env = process.env): boolean {
  return stream.isTTY === true && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb'
}

/** Prints the answer of a command on standard output. */
export function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

/** Prints a note about the work on standard error. */
export function note(text: string): void {
  process.stderr.write(`${text}\n`)
}

/** Colours text for standard output; leaves it unchanged in a pipe. */
export function paint(format: Format, text: string): string {
  // Without this option Node applies its own rule, and omits colours wherever CI is set.
  return text !== '' && hasColour(process.stdout) ? styleText(format, text, { validateStream: false }) : text
}

/** The width of standard output in characters; 80 in a pipe. */
export function terminalWidth(): number {
  // Some terminals report 0 for an unknown size.
  return process.stdout.columns || 80
}
