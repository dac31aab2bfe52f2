import { quote } from '../core/describe.ts'
import { InvalidOptionsError } from '../core/errors.ts'
import type { Costs } from '../core/usage.ts'

const PART = /^([a-z][\w-]*)=(\d{1,10})$/i

/** Writes costs as `parseCostsText` reads them; nothing for none. */
export function formatCostsText(costs: Costs = {}): string {
  return Object.entries(costs)
    .map(([unit, amount]) => `${unit}=${amount}`)
    .join(',')
}

/** Reads costs as text, `tokens=1200,images=2`, for a flag, a field of a query or of a file. @throws InvalidOptionsError */
export function parseCostsText(text: string): Costs {
  const entries = text.split(',').map((part): [string, number] => {
    const [, unit, amount] = PART.exec(part.trim()) ?? []
    if (unit !== undefined) return [unit, Number(amount)]
    throw new InvalidOptionsError(`expected costs such as tokens=1200,images=2, got: ${quote(text)}`)
  })
  const costs = new Map(entries)
  if (costs.size === entries.length) return Object.fromEntries(costs)
  throw new InvalidOptionsError(`expected each unit once, got: ${quote(text)}`)
}
