import { UnsettledError } from '../core/turn-errors.ts'
import type { KeptBody } from '../forward/answer-body.ts'
import { amountsIn, needsBody, readJson, type SettleRules, settleKnown } from '../forward/settling.ts'
import { type FoundAmounts, settleTurn } from '../line/settle-turn.ts'
import type { Turn } from '../line/turn.ts'

/** An answer as passed to the function that says what its request counted. */
export interface ReceivedAnswer {
  readonly status: number
  readonly headers: { get(name: string): string | null }
  /** The body, parsed; undefined if it is no JSON, or longer than 1 MiB. */
  readonly json: unknown
}

export type SettleOf = (answer: ReceivedAnswer) => FoundAmounts

/** An answer that begins. */
export interface BegunAnswer extends Pick<ReceivedAnswer, 'status' | 'headers'> {
  /**
   * Reads a copy of the body, at most 1 MiB of it. Called at once or not at all. Resolves to undefined for a body that
   * breaks off: the caller gets that error.
   */
  read(): Promise<KeptBody | undefined>
}

const NO_BODY: KeptBody = { bytes: Buffer.alloc(0), truncated: false }

/** Settles turns with what the answers to their requests say, by the rules for forwarded jobs or by a function. */
export class AnswerSettling {
  readonly #settle: SettleRules | SettleOf
  readonly #report: (error: Error) => void
  /** An API that does not say what a request counted never does: reported once for each unit. */
  readonly #unsettled = new Set<string>()

  constructor(settle: SettleRules | SettleOf, report: (error: Error) => void) {
    this.#settle = settle
    this.#report = report
  }

  /** Whether the answer may say it. Rules read no errors, and no parts. */
  concerns({ status, headers }: BegunAnswer): boolean {
    if (typeof this.#settle === 'function') return true
    return status >= 200 && status < 300 && status !== 206 && headers.get('content-range') === null
  }

  /** Resolves when the turn is settled, or keeps its estimate. Never rejects. */
  settle(turn: Turn, answer: BegunAnswer): Promise<void> {
    const by = this.#settle
    return settleTurn(
      turn,
      () => (typeof by === 'function' ? ask(by, answer) : this.#follow(by, turn, answer)),
      this.#report,
    )
  }

  async #follow(rules: SettleRules, turn: Turn, answer: BegunAnswer): Promise<undefined> {
    const body = needsBody(rules) ? await answer.read() : NO_BODY
    if (body === undefined) return
    const places = Object.values(rules).flatMap((place) => (typeof place === 'string' ? [] : [place.header]))
    const headers = Object.fromEntries(places.map((name) => [name, answer.headers.get(name) ?? undefined]))
    const amounts = amountsIn(rules, { ...body, headers }, (unit, reason) => {
      if (this.#unsettled.has(unit)) return
      this.#unsettled.add(unit)
      this.#report(new UnsettledError(turn.key, unit, reason))
    })
    await settleKnown(turn, amounts)
  }
}

async function ask(by: SettleOf, { status, headers, read }: BegunAnswer): Promise<Awaited<FoundAmounts>> {
  const body = await read()
  return body === undefined ? undefined : by({ status, headers, json: readJson(body).json })
}
