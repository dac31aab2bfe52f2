const UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
}
const PART = /(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)\s*/y

/** Milliseconds of `250ms`, `1.5s`, `1m30s` or `2 h`; undefined for anything else, and for nothing at all. */
export function parseDuration(text: string): number | undefined {
  const input = text.trim().toLowerCase()
  let total = 0
  PART.lastIndex = 0
  do {
    const part = PART.exec(input)
    if (part === null) return undefined
    total += Number(part[1]) * UNITS[part[2]!]!
  } while (PART.lastIndex < input.length)
  return total > 0 && Number.isFinite(total) ? total : undefined
}

/** The shortest text that `parseDuration` reads as the same: `90s` is `1m30s`. */
export function writeDuration(ms: number): string {
  let rest = ms
  let text = ''
  for (const unit of ['d', 'h', 'm', 's']) {
    const count = Math.floor(rest / UNITS[unit]!)
    if (count > 0) text += `${count}${unit}`
    rest -= count * UNITS[unit]!
  }
  return rest > 0 || text === '' ? `${text}${rest}ms` : text
}
