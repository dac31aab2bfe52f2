/** A rate or a window as it was understood: microseconds, or a period of a calendar. */
export interface ReadQuota {
  readonly amount: number
  readonly unit?: string
  readonly each?: number
  readonly window: number | string
}

/** What a limit means. All times are microseconds. */
export interface ReadLimit {
  readonly capacity: number
  readonly interval: number
  readonly tolerance: number
  readonly warmUp: number
  readonly coldInterval: number
  readonly quotas: readonly ReadQuota[]
  readonly concurrency: number
}

/** The limit is none. */
class Unreadable extends Error {}

function no(): never {
  throw new Unreadable()
}

const MS = 1_000
const DAY = 86_400e6
const SIZES: readonly (readonly [names: string, size: number])[] = [
  ['ms millisecond milliseconds', MS],
  ['s sec second seconds', 1e6],
  ['m min minute minutes', 60e6],
  ['h hr hour hours', 3_600e6],
  ['d day days', DAY],
]
const RESERVED = 'r per in at once each every from cost costs tolerance warm-up'.split(' ')
export const ZONES = ['UTC', 'Europe/Berlin', 'America/Los_Angeles', 'Asia/Kathmandu', 'Pacific/Apia']

/** Reads a limit in a second way: word by word, and not by patterns over the whole. Undefined where it is none. */
export function readLimit(input: unknown): ReadLimit | undefined {
  try {
    if (typeof input === 'string') return fromText(input)
    return typeof input === 'object' && input !== null && !Array.isArray(input) ? fromObject(input) : no()
  } catch (error) {
    if (error instanceof Unreadable) return undefined
    throw error
  }
}

type Fields = Readonly<Record<string, unknown>>

const FIELDS = ['capacity', 'rate', 'tolerance', 'warmUp', 'coldRate', 'quotas', 'concurrency']

function fromObject(input: object): ReadLimit {
  const fields = input as Fields
  if (Object.keys(input).some((field) => !FIELDS.includes(field))) no()
  const rate = rateOf(fields['rate'])
  const { capacity, tolerance, warmUp, coldRate, quotas = [], concurrency } = fields
  if (!Array.isArray(quotas) || quotas.length > 8) no()
  if (warmUp !== undefined && typeof warmUp !== 'string') no()
  return assembled({
    capacity: whole(capacity, 1e9),
    interval: rate,
    tolerance: tolerance === undefined ? undefined : toleranceOf(tolerance),
    warmUp: warmUp === undefined ? undefined : duration(warmUp),
    cold: coldRate === undefined ? undefined : rateOf(coldRate),
    quotas: Array.from(quotas as unknown[], quotaOf),
    concurrency: concurrency === undefined ? Number.POSITIVE_INFINITY : whole(concurrency, 1e6),
  })
}

function fromText(text: string): ReadLimit {
  if (text.length > 1_000) no()
  const [capacity = '', rate = '', ...rest] = text.split(',').map((part) => part.trim())
  // Three digits that begin with 0 are the rest of a number with a comma inside.
  if (/^0\d\d(?!\d)/.test(rate)) no()
  const known: { tolerance?: number; warmUp?: number; cold?: number; concurrency?: number } = {}
  const quotas: ReadQuota[] = []
  const once = (name: keyof typeof known, value: number) => {
    if (known[name] !== undefined) no()
    known[name] = value
  }
  for (const part of rest) {
    const words = part.split(/\s+/)
    const first = words[0]!.toLowerCase()
    if (first === 'tolerance') once('tolerance', toleranceOf(words.slice(1).join(' ')))
    else if (first === 'warm-up') {
      const from = words.findIndex((word, index) => index > 0 && word.toLowerCase() === 'from')
      once('warmUp', duration(words.slice(1, from === -1 ? undefined : from).join(' ')))
      if (from !== -1) once('cold', rateOf(words.slice(from + 1).join(' ')))
    } else if (words.length === 3 && words.slice(1).join(' ').toLowerCase() === 'at once')
      once('concurrency', whole(figure(words[0]!), 1e6))
    else quotas.push(quotaOf(part))
  }
  return assembled({
    capacity: whole(figure(capacity), 1e9),
    interval: rateOf(rate),
    tolerance: known.tolerance,
    warmUp: known.warmUp,
    cold: known.cold,
    quotas,
    concurrency: known.concurrency ?? Number.POSITIVE_INFINITY,
  })
}

interface Parts extends Pick<ReadLimit, 'capacity' | 'interval' | 'quotas' | 'concurrency'> {
  readonly tolerance: number | undefined
  readonly warmUp: number | undefined
  readonly cold: number | undefined
}

/** Checks what the parts say of each other. */
function assembled({ capacity, interval, tolerance, warmUp, cold, quotas, concurrency }: Parts): ReadLimit {
  if (interval < MS && (tolerance === undefined || tolerance > 10 * MS)) no()
  if (interval >= MS && tolerance !== undefined && tolerance > interval / 4) no()
  if (cold !== undefined && (warmUp === undefined || cold <= interval)) no()
  if (quotas.length > 8) no()
  for (const [at, one] of quotas.entries()) {
    for (const other of quotas.slice(at + 1)) {
      if (one.unit === other.unit && (one.window === other.window || one.each !== other.each)) no()
    }
  }
  return {
    capacity,
    interval,
    tolerance: tolerance ?? Math.min(5 * MS, interval / 4),
    warmUp: warmUp ?? 0,
    coldInterval: cold ?? (warmUp === undefined ? interval : 3 * interval),
    quotas,
    concurrency,
  }
}

function whole(value: unknown, most: number): number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= most ? value : no()
}

/** A whole number as it is written, with `_` after its first digit. */
function figure(text: string): number {
  if (text === '' || text.startsWith('_')) no()
  for (const letter of text) if (!'0123456789_'.includes(letter)) no()
  return Number(text.replaceAll('_', ''))
}

function toleranceOf(value: unknown): number {
  if (value === 0) return 0
  if (typeof value !== 'string') no()
  const bare = value.trim().replace(/\s*m?s$/, '')
  if (/^0+(\.0+)?$/.test(bare)) return 0
  return duration(value)
}

/** Microseconds between two departures. */
function rateOf(value: unknown): number {
  if (typeof value === 'string') return rateText(value)
  if (typeof value !== 'object' || value === null) no()
  const { count, per, ...others } = { count: undefined, per: undefined, ...value }
  if (typeof count !== 'number' || typeof per !== 'string' || Object.keys(others).length > 0) no()
  return paced(count, duration(per))
}

function rateText(text: string): number {
  if (text.length > 200) no()
  const given = text.trim()
  if (/^every\s/i.test(given)) return paced(1, duration(given.slice(6)))
  const [before, after, isSlash] = atPer(given)
  const number = isSlash ? before.replace(/\s*r$/i, '') : before
  const [integer = '', fraction, more] = number.trim().split('.')
  if (more !== undefined || (fraction !== undefined && !/^\d+$/.test(fraction))) no()
  const count = integer === '' && fraction !== undefined ? 0 : figure(integer)
  return paced(fraction === undefined ? count : Number(`${count}.${fraction}`), duration(after))
}

/** Divides a text at its first `/` or word `per`. */
function atPer(text: string): readonly [before: string, after: string, isSlash: boolean] {
  const slash = text.indexOf('/')
  const word = text.search(/(?<!\w)per(?!\w)/i)
  if (slash === -1 && word === -1) no()
  const isSlash = word === -1 || (slash !== -1 && slash < word)
  const at = isSlash ? slash : word
  return [text.slice(0, at).trimEnd(), text.slice(at + (isSlash ? 1 : 3)), isSlash]
}

function paced(count: number, period: number): number {
  if (!(count >= 1e-6 && count <= 1e9)) no()
  const interval = period / count
  return interval <= 366 * DAY ? interval : no()
}

function duration(text: string): number {
  if (text.length > 200) no()
  const given = text.trim()
  const exact = given.startsWith('P') ? iso(given.slice(1)) : units(given)
  const long = Math.round(exact)
  return long > 0 && long <= 366 * DAY && Math.abs(long - exact) <= 1e-6 ? long : no()
}

function units(text: string): number {
  let total = 0
  let left = text
  do {
    // Only the first unit may stand without a number.
    const number = /^[\d_.]*/.exec(left)![0]
    if (number === '' && left !== text) no()
    const name = /^\s*([a-z]*)\s*/i.exec(left.slice(number.length))!
    const size =
      name[1] === 'M' ? undefined : SIZES.find(([names]) => names.split(' ').includes(name[1]!.toLowerCase()))
    const [integer = '', fraction, more] = number.split('.')
    if (size === undefined || more !== undefined || fraction === '' || fraction?.includes('_')) no()
    if (number === '' && name[0] !== name[0].trimStart()) no()
    figure(number === '' ? '1' : integer)
    total += (number === '' ? 1 : Number(number.replaceAll('_', ''))) * size[1]
    left = left.slice(number.length + name[0].length)
  } while (left !== '')
  return total
}

function iso(text: string): number {
  const [days = '', time, more] = text.split('T')
  if (more !== undefined) no()
  let total = 0
  for (const [part, letters, sizes] of [
    [days, 'D', [DAY]],
    [time ?? '', 'HMS', [3_600e6, 60e6, 1e6]],
  ] as const) {
    let left = part
    for (const [index, letter] of [...letters].entries()) {
      const end = left.indexOf(letter)
      if (end === -1) continue
      const number = left.slice(0, end)
      if (!/^\d+$/.test(number) && !(letter === 'S' && /^\d+\.\d+$/.test(number))) no()
      total += Number(number) * sizes[index]!
      left = left.slice(end + 1)
    }
    if (left !== '') no()
  }
  return total
}

function quotaOf(value: unknown): ReadQuota {
  if (typeof value === 'string') return quotaText(value)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) no()
  const fields = value as Fields
  if (Object.keys(value).some((field) => !['amount', 'per', 'unit', 'each', 'in'].includes(field))) no()
  return quotaFrom(fields['amount'], fields['unit'], fields['per'], fields['in'], fields['each'])
}

function quotaText(text: string): ReadQuota {
  if (text.length > 200 || text.includes(',')) no()
  const [before, after] = atPer(text.trim())
  if (/[\n\r\u2028\u2029]/.test(after.trim())) no()
  const number = /^[\d_]*/.exec(before)![0]
  const unit = before.slice(number.length).trim()
  // `5k` and `5e3` are numbers of another kind.
  if (unit !== '' && before[number.length] === unit[0] && /^(?:[km]|e\d+)(?![\w])/i.test(unit)) no()
  const words = after.trim().split(/\s+/)
  const each = words.at(-1)?.toLowerCase() === 'each' && words.length > 2 ? figure(words.at(-2)!) : undefined
  if (each !== undefined) words.splice(-2)
  const zone = words.at(-2)?.toLowerCase() === 'in' && words.length > 2 ? words.at(-1) : undefined
  if (zone !== undefined) words.splice(-2)
  return quotaFrom(figure(number), unit === '' ? undefined : unit, words.join(' '), zone, each)
}

function quotaFrom(amount: unknown, unit: unknown, per: unknown, zone: unknown, each: unknown): ReadQuota {
  const most = whole(amount, 1e12)
  if (unit !== undefined && !isUnit(unit)) no()
  if (typeof per !== 'string') no()
  if ((unit === undefined) !== (each === undefined)) no()
  return {
    amount: most,
    ...(unit !== undefined && { unit: unit as string, each: whole(each, Math.min(most, 1e9)) }),
    window: zone === undefined ? rolling(per) : calendar(per, zone),
  }
}

function isUnit(unit: unknown): boolean {
  if (typeof unit !== 'string' || unit.length > 32 || !/^[a-z][-\w]*$/i.test(unit)) return false
  return !RESERVED.includes(unit.toLowerCase()) && !Reflect.has({}, unit)
}

function rolling(per: string): number {
  const long = duration(per)
  return long >= 1e6 && long <= 31 * DAY ? long : no()
}

function calendar(per: string, zone: unknown): string {
  const period = per.trim().toLowerCase()
  const named = ZONES.find((name) => typeof zone === 'string' && name.toLowerCase() === zone.toLowerCase())
  return ['hour', 'day', 'week'].includes(period) && named !== undefined ? `${period} in ${named}` : no()
}
