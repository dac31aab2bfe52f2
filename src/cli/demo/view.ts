import { monotonicNow } from '../../core/clock.ts'
import { SECOND } from '../../core/duration.ts'
import type { DemoView } from '../../demo/demo.ts'
import type { RunLog } from '../../demo/run-log.ts'
import type { TenantsLog } from '../../demo/tenants.ts'
import { hasColour, print } from '../terminal.ts'
import { fitsScreen, renderScreen, type ScreenSize } from './screen.ts'
import { renderTenants } from './tenants-screen.ts'

const FRAME_MS = 100
const SECOND_MS = 1_000
const RETRY_MS = 1
/** Hides and shows the cursor and line wrapping; without wrapping a narrower terminal only cuts the picture. */
const HIDE = '\u001b[?25l\u001b[?7l'
const SHOW = '\u001b[?25h\u001b[?7h'
const ERASE_LINE = '\u001b[2K'
const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const

/** A live picture on a terminal that is large enough, else plain lines. */
export function openDemoView(stream: NodeJS.WriteStream = process.stdout): DemoView {
  const size = { columns: stream.columns || 0, rows: stream.rows || 0 }
  return hasColour(stream) && fitsScreen(size) ? new LiveView(stream) : new PlainView()
}

/** One picture for the runs, and below it one for the tenants. */
class LiveView implements DemoView {
  readonly #stream: NodeJS.WriteStream
  readonly #runs: RunLog[] = []
  #picture: LivePicture | undefined
  #restore: (() => void) | undefined

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream
  }

  begin(run: RunLog, isQuiet: () => boolean): void {
    this.#runs.push(run)
    this.#restore ??= hideCursor(this.#stream)
    this.#picture ??= new LivePicture(this.#stream, (now, size) => renderScreen(this.#runs, now, size))
    this.#picture.draw(isQuiet)
  }

  beginTenants(logs: readonly TenantsLog[], isQuiet: () => boolean): void {
    this.#picture?.end()
    this.#picture = new LivePicture(this.#stream, () => ['', ...renderTenants(logs)])
    this.#picture.draw(isQuiet)
  }

  end(): void {
    this.#picture?.end()
    this.#restore?.()
  }
}

/** Redraws ten times a second. */
class LivePicture {
  readonly #stream: NodeJS.WriteStream
  readonly #render: (now: number, size: ScreenSize) => readonly string[]
  #timer: NodeJS.Timeout | undefined
  #isQuiet = () => true
  #drawn = 0

  constructor(stream: NodeJS.WriteStream, render: (now: number, size: ScreenSize) => readonly string[]) {
    this.#stream = stream
    this.#render = render
  }

  draw(isQuiet: () => boolean): void {
    this.#isQuiet = isQuiet
    this.#timer ??= setTimeout(this.#onTimer, 0)
  }

  end(): void {
    clearTimeout(this.#timer)
    this.#draw()
  }

  /** Never draws during a call: that would delay it, and bring the next call too close to it. */
  readonly #onTimer = (): void => {
    const isQuiet = this.#isQuiet()
    if (isQuiet) this.#draw()
    this.#timer = setTimeout(this.#onTimer, isQuiet ? FRAME_MS : RETRY_MS)
  }

  #draw(): void {
    const { columns, rows } = this.#stream
    const lines = this.#render(monotonicNow(), { columns, rows })
    const back = this.#drawn > 0 ? `\u001b[${this.#drawn}A` : ''
    this.#stream.write(`${back}${lines.map((line) => `${ERASE_LINE}${line}\n`).join('')}`)
    this.#drawn = lines.length
  }
}

/** Hides the cursor until the returned function is called or the process ends, also by a signal. */
function hideCursor(stream: NodeJS.WriteStream): () => void {
  stream.write(HIDE)
  const show = () => void stream.write(SHOW)
  const stop = (signal: keyof typeof SIGNALS) => process.exit(SIGNALS[signal])
  const signals = Object.keys(SIGNALS) as (keyof typeof SIGNALS)[]
  process.once('exit', show)
  for (const signal of signals) process.once(signal, stop)
  return () => {
    process.off('exit', show)
    for (const signal of signals) process.off(signal, stop)
    show()
  }
}

/** Prints one line a second. */
class PlainView implements DemoView {
  #timer: NodeJS.Timeout | undefined
  #run: RunLog | undefined
  #tenants: readonly TenantsLog[] = []

  begin(run: RunLog): void {
    this.#finish()
    this.#run = run
    print(run.isShaped ? 'with velvet-rope' : 'without velvet-rope')
    this.#timer = setInterval(() => print(describeRun(run)), SECOND_MS)
  }

  beginTenants(logs: readonly TenantsLog[]): void {
    this.#finish()
    this.#run = undefined
    this.#tenants = logs
  }

  end(): void {
    this.#finish()
    if (this.#tenants.length > 0) print(`\n${renderTenants(this.#tenants).join('\n')}`)
  }

  #finish(): void {
    clearInterval(this.#timer)
    if (this.#run !== undefined) print(describeRun(this.#run))
  }
}

function describeRun(run: RunLog): string {
  const seconds = ((run.endedAt ?? monotonicNow()) - run.startedAt) / SECOND
  const accounts = run.accounts.map(({ account, waiting, calls, refused }) =>
    run.isShaped
      ? `${account.key} ${waiting}/${account.limit.capacity} waiting, ${calls.length} called, ${refused} × 429`
      : `${account.key} ${calls.length} calls, ${refused} × 429`,
  )
  return `${seconds.toFixed(1).padStart(5)} s  ${accounts.join('; ')}`
}
