import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Saying, Wish } from './actor.ts'

const PROGRAM = fileURLToPath(new URL('./actor.js', import.meta.url))
/** What does not happen within this fails the measurement; milliseconds. */
const PATIENCE = 300_000

/** A process could not fulfil a wish. */
export class WishFailed extends Error {}

/** A process with some lines, as its parent sees it. */
export class ActorProcess {
  readonly #process: ChildProcess
  readonly #said: Saying[] = []
  readonly #listeners = new Set<() => void>()
  readonly #ended: Promise<void>
  #wishes = 0

  constructor() {
    this.#process = spawn(process.execPath, [PROGRAM], { stdio: ['pipe', 'pipe', 'inherit'] })
    this.#process.stdin!.on('error', () => undefined)
    this.#ended = new Promise((resolve) => this.#process.once('close', () => resolve()))
    createInterface({ input: this.#process.stdout! }).on('line', (line) => {
      this.#said.push(JSON.parse(line))
      for (const listener of [...this.#listeners]) listener()
    })
  }

  /** Resolves when it is fulfilled. @throws WishFailed when it cannot be */
  async ask(wish: Wish): Promise<void> {
    const number = this.#wishes++
    this.#process.stdin!.write(`${JSON.stringify(wish)}\n`)
    const answer = await this.hears((saying) => 'wish' in saying && saying.wish === number)
    if (answer.said === 'failed') throw new WishFailed(`${wish.do} ${wish.line}: ${answer.why}`)
  }

  /** Resolves with what it says of this kind, at once if it has said it before. @throws Error when it does not */
  async hears(test: (saying: Saying) => boolean): Promise<Saying> {
    const until = AbortSignal.timeout(PATIENCE)
    for (;;) {
      const found = this.#said.find(test)
      if (found !== undefined) return found
      if (until.aborted) throw new Error(`expected a process to say more within ${PATIENCE} ms`)
      await new Promise<void>((resolve) => {
        const done = () => {
          this.#listeners.delete(done)
          until.removeEventListener('abort', done)
          resolve()
        }
        this.#listeners.add(done)
        until.addEventListener('abort', done)
      })
    }
  }

  /** The moment of a saying, by the host's clock. */
  async momentOf(said: 'started' | 'went on' | 'queued', line: string, id?: string): Promise<number> {
    const saying = await this.hears(
      (one) => one.said === said && 'id' in one && one.line === line && (id === undefined || one.id === id),
    )
    return 'at' in saying ? saying.at : Number.NaN
  }

  /** The moments of all starts in a line so far. */
  startsIn(line: string): number[] {
    return this.#said.flatMap((one) => (one.said === 'started' && one.line === line ? one.at : []))
  }

  /** Whether it is the elected scheduler of a line, by what it said last. */
  officeIn(line: string): 'leads' | 'follows' | undefined {
    const last = this.#said.findLast(
      (one) => (one.said === 'leads' || one.said === 'follows') && one.line === line,
    )
    return last?.said === 'leads' || last?.said === 'follows' ? last.said : undefined
  }

  /** It stands still until it is killed. */
  stop(): void {
    this.#process.kill('SIGSTOP')
  }

  async kill(): Promise<void> {
    this.#process.kill('SIGKILL')
    await this.#ended
  }
}
