import { type Key, readKeys } from './keyboard.ts'

/** The parts of `process.stdout` and `process.stdin` that a full screen needs. */
interface ScreenOutput {
  readonly columns?: number
  readonly rows?: number
  write(text: string): unknown
  on(event: 'resize', listener: () => void): unknown
  off(event: 'resize', listener: () => void): unknown
}
interface ScreenInput {
  setRawMode(isRaw: boolean): unknown
  setEncoding(encoding: 'utf8'): unknown
  on(event: 'data', listener: (text: string) => void): unknown
  on(event: 'end', listener: () => void): unknown
  off(event: 'data', listener: (text: string) => void): unknown
  off(event: 'end', listener: () => void): unknown
  resume(): unknown
  pause(): unknown
}

export interface ScreenSize {
  readonly columns: number
  readonly rows: number
}

interface ScreenListener {
  onKeys(keys: readonly Key[]): void
  onResize(): void
  /** The terminal has closed, or a signal asks the process to end. */
  onEnd(signal: EndSignal): void
}

/** The exit codes in shells for processes that a signal ended. */
export const SIGNAL_CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const
type EndSignal = keyof typeof SIGNAL_CODES

/** Enters the alternate screen, hides the cursor, and turns off line wrapping. */
const ENTER = '\u001b[?1049h\u001b[?25l\u001b[?7l\u001b[2J'
const LEAVE = '\u001b[?7h\u001b[?25h\u001b[?1049l'
const CLEAR = '\u001b[2J'
const HOME = '\u001b[H'
/** Written before a line; after a line up to the edge it would erase the last character. */
const ERASE_LINE = '\u001b[2K'

/** Takes the screen and the keyboard of a terminal, and restores them however the process ends. */
export class FullScreen {
  readonly #output: ScreenOutput
  readonly #input: ScreenInput
  #leave: (() => void) | undefined

  constructor(output: ScreenOutput = process.stdout, input: ScreenInput = process.stdin) {
    this.#output = output
    this.#input = input
  }

  get size(): ScreenSize {
    // Some terminals report 0 for an unknown size.
    return { columns: this.#output.columns || 80, rows: this.#output.rows || 24 }
  }

  /** Takes the screen. Keys arrive one by one, including Ctrl-C. */
  enter({ onKeys, onResize, onEnd }: ScreenListener): void {
    const input = this.#input
    const onData = (text: string) => onKeys(readKeys(text))
    const onInputEnd = () => onEnd('SIGHUP')
    const onSizeChange = () => {
      this.#output.write(CLEAR)
      onResize()
    }
    const signals = Object.keys(SIGNAL_CODES) as EndSignal[]
    const leave = () => this.leave()
    this.#leave = () => {
      this.#output.off('resize', onSizeChange)
      input.off('data', onData)
      input.off('end', onInputEnd)
      for (const signal of signals) process.off(signal, onEnd)
      process.off('exit', leave)
      input.setRawMode(false)
      input.pause()
      this.#output.write(LEAVE)
    }
    // First of all, in case one of the others fails.
    process.once('exit', leave)
    // A second signal ends the process at once.
    for (const signal of signals) process.once(signal, onEnd)
    input.setEncoding('utf8')
    input.on('data', onData)
    input.on('end', onInputEnd)
    this.#output.on('resize', onSizeChange)
    input.setRawMode(true)
    input.resume()
    this.#output.write(ENTER)
  }

  /** Overwrites the screen; the lines must fit. */
  draw(lines: readonly string[]): void {
    if (this.#leave === undefined) return
    this.#output.write(HOME + lines.map((line) => ERASE_LINE + line).join('\r\n'))
  }

  /** Restores the screen. Safe to call twice. */
  leave(): void {
    const leave = this.#leave
    this.#leave = undefined
    leave?.()
  }
}
