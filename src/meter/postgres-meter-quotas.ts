import type { z } from 'zod'
import { withUses } from '../core/meter-quotas.ts'
import type { QuotaUse } from '../core/quota.ts'
import type { MeterId, QuotaFilled, QuotaFillRequest, QuotaMeterVerbs, QuotaReading } from './meter-store.ts'
import type { QuotaStatements } from './postgres-quota-statements.ts'
import { quotaFilledRow, quotaReadingRow } from './postgres-rows.ts'
import { type AskAgain, QuotaAttempts } from './quota-attempts.ts'
import { foreignCounts, parseWindows, quotaNumbers, windowsText } from './stored-counts.ts'

export type AskPostgres = <Rows>(
  schema: z.ZodType<Rows>,
  statement: string,
  params: unknown[],
) => Promise<Rows>

/** What a row keeps of quotas: the windows as text, and of each entry its quota, its end, and how much it counts. */
export interface KeptRow {
  readonly windows: string | null
  readonly uses: readonly number[]
}

/** The verbs for limits with quotas: one statement each. */
export class PostgresMeterQuotas implements QuotaMeterVerbs {
  readonly #statements: QuotaStatements
  readonly #ask: AskPostgres
  readonly #attempts = new QuotaAttempts<KeptRow>()
  readonly #onFilled: (now: number) => void

  /** @param onFilled is called with the time of the database, where that was not given */
  constructor(statements: QuotaStatements, ask: AskPostgres, onFilled: (now: number) => void) {
    this.#statements = statements
    this.#ask = ask
    this.#onFilled = onFilled
  }

  async fill(request: QuotaFillRequest, given?: number): Promise<QuotaFilled> {
    const { name, key, amount, capacity, interval, clamp, block, quotas } = request
    const level = [name, key, amount, capacity, interval, clamp, block, given ?? null, windowsText(quotas)]
    const filled = await this.#attempts.fill(request, given, async ({ now, carried }) => {
      const kept = carried && [carried.kept.windows, literal(carried.kept.uses)]
      const instead = [...(kept ?? [null, null]), carried ? literal(entriesOf(carried.uses)) : null]
      const params = [...level, literal(quotaNumbers(request, now)), ...instead]
      return readAnswer(request, await this.#ask(quotaFilledRow, this.#statements.fill, params))
    })
    if (given === undefined) this.#onFilled(filled.now)
    return filled
  }

  async read({ name, key }: MeterId, given?: number): Promise<QuotaReading> {
    const { state, now, kept } = await this.#ask(quotaReadingRow, this.#statements.read, [
      name,
      key,
      given ?? null,
    ])
    if (state === undefined) return { state, now }
    const { quotas = [], uses = [] } = countedIn(kept) ?? {}
    return { state: withUses(state, quotas, uses), now }
  }
}

function readAnswer(
  { quotas }: QuotaFillRequest,
  { accepted, state, now, kept }: z.output<typeof quotaFilledRow>,
): QuotaFilled | AskAgain<KeptRow> {
  const counted = countedIn(kept)
  if (now < 0) return { now: -now, kept, counted }
  return { accepted, state: withUses(state, quotas, counted?.uses ?? []), now }
}

/** @throws ForeignValueError */
function countedIn({ windows, uses: numbers }: KeptRow) {
  if (windows === null) return undefined
  const quotas = parseWindows(windows)
  const uses = quotas.map((): QuotaUse => ({ ends: [], used: [] }))
  for (let place = 0; place < numbers.length; place += 3) {
    const [quota, end, units] = numbers.slice(place, place + 3)
    const use = uses[quota! - 1]
    if (use === undefined || end === undefined || units === undefined) throw foreignCounts()
    use.ends.push(end)
    use.used.push(units)
  }
  return { quotas, uses }
}

function entriesOf(uses: readonly QuotaUse[]): number[] {
  return uses.flatMap(({ ends, used }, quota) => ends.flatMap((end, entry) => [quota + 1, end, used[entry]!]))
}

/** An array as text: not all clients can pass arrays. */
function literal(numbers: readonly number[]): string {
  return `{${numbers.join(',')}}`
}
