const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** The tolerated rounding error of a percentage. */
const ROUNDING = 1e-9

const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 })

/** `12,345`. */
export function formatCount(count: number): string {
  return whole.format(count)
}

/** `12,345` up to 99,999, then `123k`, `1.23M`: never wider than six characters. */
export function formatShort(count: number): string {
  if (count < 99_999.5) return whole.format(count)
  if (count < 999_500) return `${Math.round(count / 1_000)}k`
  if (count < 999_500_000) return `${Number((count / 1e6).toPrecision(3))}M`
  return `${Number((count / 1e9).toPrecision(3))}G`
}

/** The length of a list: `1,000+` where it is a lower bound. */
export function formatTotal(total: number, isAtLeast?: boolean): string {
  return `${whole.format(total)}${isAtLeast === true ? '+' : ''}`
}

/** A rate per second, without the unit: `0`, `0.25`, `9.9`, `120`, `12,345`. */
export function formatRate(perSecond: number): string {
  if (perSecond === 0) return '0'
  if (perSecond < 0.995) return perSecond.toFixed(2)
  if (perSecond < 99.95) return perSecond.toFixed(1)
  return formatShort(perSecond)
}

/** A share as a percentage, rounded down: only a full line is 100%, and only an empty one is 0%. */
export function formatPercent(share: number): string {
  if (share > 0 && share < 0.01) return '<1%'
  return `${whole.format(Math.floor(share * 100 + ROUNDING))}%`
}

/** A length of time in two units at most: `0 ms`, `850 ms`, `4.2 s`, `1m 05s`, `3h 12m`, `2d 4h`. */
export function formatSpan(ms: number): string {
  if (ms < SECOND) return `${Math.max(0, Math.round(ms))} ms`
  if (ms < MINUTE) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`
  if (ms < HOUR) return inTwo(ms, MINUTE, SECOND, 'm', 's')
  if (ms < DAY) return inTwo(ms, HOUR, MINUTE, 'h', 'm')
  return inTwo(ms, DAY, HOUR, 'd', 'h')
}

/** The time left until a departure. */
export function formatCountdown(ms: number): string {
  return ms <= 0 ? 'now' : formatSpan(ms)
}

/** How long ago, in one unit, since finer ones would flicker. */
export function formatAgo(ms: number): string {
  if (ms < 1_500) return 'just now'
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)} s ago`
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)}m ago`
  return ms < DAY ? `${Math.floor(ms / HOUR)}h ago` : `${Math.floor(ms / DAY)}d ago`
}

/** `0.98`, `1.00`, `12.3`: a gap by its interval. */
export function formatRatio(ratio: number): string {
  return ratio < 9.995 ? ratio.toFixed(2) : ratio < 999.5 ? ratio.toPrecision(3) : formatShort(ratio)
}

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' })
const full = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' })

/** `14:03:22`, in the local time zone. */
export function formatClock(at: number): string {
  return clock.format(at)
}

/** `22 Nov 2026, 14:03:22`. */
export function formatMoment(at: number): string {
  return full.format(at)
}

/** Both units are rounded down together, so that `1m 60s` cannot occur. */
function inTwo(ms: number, large: number, small: number, one: string, two: string): string {
  const units = Math.floor(ms / small)
  const per = large / small
  return `${Math.floor(units / per)}${one} ${String(units % per).padStart(2, '0')}${two}`
}
