import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { built } from '../support/built.ts'
import type { SoakOrder, SoakPlan } from './plan.ts'

interface Reply {
  readonly answer?: unknown
  readonly failure?: string
}

/** A process of a soak, as its parent sees it. One order after the other. */
export class SoakChild {
  readonly plan: SoakPlan
  readonly #process: ChildProcess
  readonly #ended: Promise<void>
  readonly #waiting: ((reply: Reply) => void)[] = []
  #errors = ''
  #isOver = false
  #orders: Promise<unknown>

  private constructor(plan: SoakPlan) {
    this.plan = plan
    const child = spawn(process.execPath, [built('test/soak/process.ts'), JSON.stringify(plan)], {
      stdio: 'pipe',
    })
    this.#process = child
    child.stdin.on('error', () => undefined)
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#errors = (this.#errors + text).slice(-2_000)
    })
    createInterface({ input: child.stdout }).on('line', (line) => this.#waiting.shift()?.(JSON.parse(line)))
    this.#ended = new Promise((resolve) => {
      child.once('close', () => {
        this.#isOver = true
        for (const give of this.#waiting.splice(0)) give({ failure: `it ended: ${this.#errors}` })
        resolve()
      })
    })
    this.#orders = this.#next()
  }

  /** Resolves when it is ready. */
  static async start(plan: SoakPlan): Promise<SoakChild> {
    const child = new SoakChild(plan)
    await child.#orders
    return child
  }

  /** @throws (rejects) when it ended, or could not carry it out */
  order<Answer>(order: SoakOrder): Promise<Answer> {
    const carriedOut = this.#orders.then(() => {
      const answer = this.#next()
      this.#process.stdin?.write(`${JSON.stringify(order)}\n`)
      return answer as Promise<Answer>
    })
    this.#orders = carriedOut.catch(() => undefined)
    return carriedOut
  }

  async kill(): Promise<void> {
    this.#process.kill('SIGKILL')
    await this.#ended
  }

  stop(): void {
    this.#process.kill('SIGSTOP')
  }

  goOn(): void {
    this.#process.kill('SIGCONT')
  }

  async close(): Promise<void> {
    await this.order({ do: 'close' }).catch(() => undefined)
    await this.#ended
  }

  #next(): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#isOver) return reject(new Error(`${this.plan.name} has ended: ${this.#errors}`))
      this.#waiting.push(({ answer, failure }) => {
        if (failure === undefined) resolve(answer)
        else reject(new Error(`${this.plan.name}: ${failure}`))
      })
    })
  }
}
