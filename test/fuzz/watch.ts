import { Worker } from 'node:worker_threads'

/** Processor time of this process, in seconds, in which an input that keeps it busy may do so. */
const PATIENCE_S = 60

/** Runs beside the code under test, which may leave no turn to the event loop: only a signal ends it then. */
const WATCHER = `
const { workerData } = require('node:worker_threads')
const { writeSync } = require('node:fs')
const used = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1e6 }
let seen
let since = used()
setInterval(() => {
  const [seed, number, isBusy] = workerData.beats
  const now = seed + ':' + number + ':' + isBusy
  if (now !== seen || isBusy === 0) { seen = now; since = used(); return }
  if (used() - since < ${PATIENCE_S}) return
  writeSync(2, workerData.name + ': input ' + number + ' of seed ' + seed + ' kept the process busy for ${PATIENCE_S} s and let nothing else run\\n')
  process.kill(process.pid, 'SIGKILL')
}, 1_000)
`

/** Ends this process where one input keeps it busy for a minute, and names the input: no timer of the process itself would fire. */
export class Watch {
  readonly #beats = new Int32Array(new SharedArrayBuffer(12))
  readonly #worker: Worker

  constructor(name: string) {
    this.#worker = new Worker(WATCHER, { eval: true, workerData: { name, beats: this.#beats } })
    this.#worker.unref()
  }

  /** The input with this number is given now. */
  begin(seed: number, number: number): void {
    this.#beats.set([seed, number, 1])
  }

  /** It has an answer. */
  end(): void {
    Atomics.store(this.#beats, 2, 0)
  }

  async close(): Promise<void> {
    await this.#worker.terminate()
  }
}
