import { type Key, readKeys } from './keyboard.ts'

/** What a full screen needs of a terminal: `process.stdout` and `process.stdin` have it. */
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
  /** The terminal is gone, or somebody else wants the process to end. */
  onEnd(signal: EndSignal): void
}

/** The exit code that shells give a process that a signal ended. */
export const SIGNAL_CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const
type EndSignal = keyof typeof SIGNAL_CODES

/** A second screen, so that what stood on the first comes back; no cursor; and lines that are cut, not wrapped. */
const ENTER = '\u001b[?1049h\u001b[?25l\u001b[?7l\u001b[2J'
const LEAVE = '\u001b[?7h\u001b[?25h\u001b[?1049l'
const CLEAR = '\u001b[2J'
const HOME = '\u001b[H'
/** Before the line is written: after one that reaches the edge it would take away its last character. */
const ERASE_LINE = '\u001b[2K'

/** The whole screen of a terminal, and its keyboard, until they are given back: whatever ends the process. */
export class FullScreen {
  readonly #output: ScreenOutput
  readonly #input: ScreenInput
  #leave: (() => void) | undefined

  constructor(output: ScreenOutput = process.stdout, input: ScreenInput = process.stdin) {
    this.#output = output
    this.#input = input
  }

  get size(): ScreenSize {
    // Some terminals say 0 when they do not know.
    return { columns: this.#output.columns || 80, rows: this.#output.rows || 24 }
  }

  /** Takes the screen. Keys come one by one, Ctrl-C among them. */
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
    // The first of all, in case the others do not come about.
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

  /** Draws over what is there; lines must fit the screen. */
  draw(lines: readonly string[]): void {
    if (this.#leave === undefined) return
    this.#output.write(HOME + lines.map((line) => ERASE_LINE + line).join('\r\n'))
  }

  /** Gives the screen back as it was. Safe to call twice. */
  leave(): void {
    const leave = this.#leave
    this.#leave = undefined
    leave?.()
  }
}
