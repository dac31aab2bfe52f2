import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { extname } from 'node:path'
import type { Order, Report } from './messages.ts'
import { readReport } from './messages.ts'

/** A producer or a worker in its own process, as seen by the parent. */
export class DemoProcess {
  readonly name: string
  readonly #child: ChildProcess
  #isReleased = false

  /**
   * @param onEnd called if it ends before it was released
   */
  constructor(
    kind: 'producer' | 'worker',
    number: number,
    onReport: (report: Report) => void,
    onEnd: (how: string) => void,
  ) {
    this.name = `${kind} ${number}`
    // The file next to this one, in the sources and in the package.
    const file = new URL(`./${kind}${extname(import.meta.url)}`, import.meta.url)
    // Messages may contain Infinity, which JSON lacks.
    this.#child = fork(file, { serialization: 'advanced', stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
    this.#child
      .on('message', (message) => onReport(readReport(message)))
      .on('error', (error) => onEnd(`${this.name}: ${error.message}`))
      .on('exit', (code, signal) => {
        if (!this.#isReleased) onEnd(`${this.name} ended with ${signal ?? `code ${code}`}`)
      })
  }

  send(order: Order): void {
    // A process that has ended was reported already.
    this.#child.send(order, () => {})
  }

  /** Ends it, by force if need be; resolves when it has ended. */
  async release(isDone: boolean): Promise<void> {
    this.#isReleased = true
    const { exitCode, signalCode, connected } = this.#child
    if (exitCode !== null || signalCode !== null) return
    const exit = once(this.#child, 'exit')
    if (isDone && connected) this.#child.disconnect()
    else this.#child.kill('SIGKILL')
    await exit
  }
}
