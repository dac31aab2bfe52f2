import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { BackendUnavailableError } from '../../../src/index.ts'
import type { ChildPlan, Order, Question } from './plans.ts'
import type { Crash } from './seeded/plan.ts'

/** How long an order, or the start of a process, may take on a busy machine; milliseconds. */
const PATIENCE = 300_000

/** Between two tries of a question; milliseconds. */
const ASK_AGAIN_MS = 100

/** MiB: several times what such a process uses, and soon full when it is to crash. */
const HEAP = '--max-old-space-size=256'

/** A process of a campaign, as its parent sees it. */
export class CampaignChild {
  readonly name: string
  readonly plan: ChildPlan
  readonly #process: ChildProcess
  readonly #ended: Promise<void>
  readonly #lines: string[] = []
  readonly #listeners = new Set<() => void>()
  #orders: Promise<unknown> = Promise.resolve()
  #errors = ''
  #fate: string | undefined
  #isKilled = false

  /** @param program the compiled form of `process.ts` */
  constructor(name: string, plan: ChildPlan, program: string) {
    this.name = name
    this.plan = plan
    const child = spawn(process.execPath, [HEAP, program, JSON.stringify(plan)], {
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    this.#process = child
    // Orders to a process that has just died are missed; what waits for the answer says so.
    child.stdin.on('error', () => undefined)
    let rest = ''
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = (rest + chunk).split('\n')
      rest = lines.pop()!
      this.#lines.push(...lines)
      this.#wake()
    })
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      this.#errors = (this.#errors + chunk).slice(-4_000)
    })
    this.#ended = new Promise((resolve) => {
      child.on('close', (code, signal) => {
        this.#fate = signal ?? `exit ${code}`
        this.#wake()
        resolve()
      })
    })
  }

  /** The signal that ended it; undefined while it lives, and when it ended by itself. */
  get signal(): string | undefined {
    return this.#fate?.startsWith('SIG') ? this.#fate : undefined
  }

  /** How it ended; undefined while it lives. */
  get fate(): string | undefined {
    return this.#fate
  }

  /** It died as it was meant to. */
  get hasDied(): boolean {
    return this.#isKilled && !this.isAlive
  }

  get isAlive(): boolean {
    return this.#fate === undefined
  }

  /** What it said last and what went wrong, for the message of a failure. */
  get state(): string {
    const errors = this.#errors.trim() === '' ? '' : `\n    ${this.#errors.trim().replaceAll('\n', '\n    ')}`
    return `  ${this.name}: ${this.#fate ?? 'alive'}, said last: ${this.#lines.at(-1) ?? 'nothing'}${errors}`
  }

  /** Resolves with the first line after `from` lines that begins with `start`. @throws Error when it ends before, or takes too long */
  async said(start: string, { withinMs = PATIENCE, from = 0 } = {}): Promise<string> {
    const until = AbortSignal.timeout(withinMs)
    for (;;) {
      const line = this.#lines.slice(from).find((said) => said.startsWith(start))
      if (line !== undefined) return line
      if (!this.isAlive || until.aborted) {
        const why = this.isAlive ? `in ${withinMs} ms` : 'and ended'
        throw new Error(`expected ${this.name} to say "${start}", it has not ${why}:\n${this.state}`)
      }
      await this.#news(until)
    }
  }

  /** How many lines it has said. */
  get spoken(): number {
    return this.#lines.length
  }

  /** Gives an order and resolves with its answer; one order after the other. @throws Error when it was not carried out */
  order<Answer>(order: Order): Promise<Answer> {
    const carriedOut = this.#orders.then(async (): Promise<Answer> => {
      const from = this.spoken
      this.#process.stdin?.write(`${JSON.stringify(order)}\n`)
      const line = await this.said('reply ', { withinMs: PATIENCE, from })
      const { answer, failure } = JSON.parse(line.slice('reply '.length))
      if (failure !== undefined) throw new Error(`${this.name} could not ${order.do}: ${failure}`)
      return answer
    })
    this.#orders = carriedOut.catch(() => undefined)
    return carriedOut
  }

  /**
   * The answer to a question, asked again for as long as the store is away. A busy machine lets any single call take too long.
   *
   * @throws Error when it was not answered within `withinMs`, or not for another reason
   */
  async ask<Answer>(question: Question, withinMs = PATIENCE): Promise<Answer> {
    const until = AbortSignal.timeout(withinMs)
    for (;;) {
      try {
        return await this.order<Answer>(question)
      } catch (error) {
        if (until.aborted || !this.isAlive || !String(error).includes(BackendUnavailableError.name))
          throw error
        await sleep(ASK_AGAIN_MS)
      }
    }
  }

  /** Resolves when it has ended, however that came. */
  get ended(): Promise<void> {
    return this.#ended
  }

  get pid(): number {
    return this.#process.pid!
  }

  /** Whether it stands still. */
  get isStopped(): boolean {
    // The third field of the file is the state, behind a name in brackets.
    return this.isAlive && /\) T /.test(readFileSync(`/proc/${this.pid}/stat`, 'utf8'))
  }

  /** It is about to end itself, as planned. */
  expectDeath(): void {
    this.#isKilled = true
  }

  /** Ends it in the middle of whatever it does. */
  async kill(): Promise<void> {
    this.#isKilled = true
    this.#process.kill('SIGKILL')
    await this.#ended
  }

  /** Lets it end by itself. @throws Error when it does not */
  async crash(how: Crash): Promise<void> {
    this.#isKilled = true
    if (how === 'SIGSEGV') this.#process.kill(how)
    else this.#process.stdin?.write(`${JSON.stringify({ do: 'crash', how } satisfies Order)}\n`)
    await Promise.race([this.#ended, sleep(PATIENCE, undefined, { ref: false })])
    if (this.isAlive)
      throw new Error(`expected ${this.name} to crash by ${how}, it has not in ${PATIENCE} ms`)
  }

  /** Resolves when it stands still. */
  async stop(): Promise<void> {
    this.#process.kill('SIGSTOP')
    while (this.isAlive && !this.isStopped) await sleep(1)
  }

  goOn(): void {
    this.#process.kill('SIGCONT')
  }

  /** Lets it end by itself, or ends it. Complains of one that ended before the order to, and of one that does not end. */
  async close(): Promise<string | undefined> {
    if (this.#isKilled && !this.isAlive) return undefined
    const wasAlive = this.isAlive
    this.goOn()
    const complaint = wasAlive ? await this.#askToClose() : 'ended before it was asked to'
    this.#process.kill('SIGKILL')
    await this.#ended
    const mayDie = this.#isKilled && this.signal === 'SIGKILL'
    return complaint === undefined || mayDie ? undefined : `${complaint}\n${this.state}`
  }

  async #askToClose(): Promise<string | undefined> {
    try {
      await this.order({ do: 'close' })
      return undefined
    } catch (error) {
      return String(error)
    }
  }

  #news(until: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        this.#listeners.delete(done)
        until.removeEventListener('abort', done)
        resolve()
      }
      this.#listeners.add(done)
      until.addEventListener('abort', done)
    })
  }

  #wake(): void {
    for (const listener of [...this.#listeners]) listener()
  }
}
