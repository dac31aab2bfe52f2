import { deepStrictEqual, ok } from 'node:assert/strict'
import fc from 'fast-check'
import { stringify } from 'yaml'
import type { Config } from '../../../src/config/config.ts'
import { InvalidConfigError } from '../../../src/config/config-error.ts'
import { composeConfig } from '../../../src/config/load-config.ts'
import { parseRule } from '../../../src/core/rule-book.ts'
import { openMeter, openShaper } from '../../../src/service/open-shaper.ts'
import { made, TrapError } from '../hostile-values.ts'
import { machine } from '../machine.ts'
import { oddText } from '../odd-values.ts'
import { readLimit } from '../parts/limit-reading.ts'
import { oddLimit, plainLimit } from '../parts/odd-limits.ts'
import { LONGEST_MESSAGE, outcomeOf } from '../refusals.ts'

const PLACE = { name: 'velvet-rope.yaml', path: '/velvet-rope.yaml', isNamed: false }
/** Above the limits there are other settings, below them none. */
const HEAD = ['name: fuzz', 'drainMs: 1000', 'limits:']

const pattern = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.constantFrom('*', 'a', 'a/b', 'a/*', '*/b', 'constructor', 'é', '5', 'true', 'a b'),
  },
  oddText.filter((text) => text.length <= 300 && !/\p{Surrogate}/u.test(text)),
)
const limit = fc.oneof({ weight: 3, arbitrary: plainLimit }, oddLimit)
const book = fc.dictionary(pattern, limit, { minKeys: 1, maxKeys: 4, noNullPrototype: true })

type Book = Readonly<Record<string, unknown>>

/** Ways to write limits; the first have a line for each. */
const STYLES = ['quoted', 'plain', 'json', 'yaml', 'variable'] as const
type Style = (typeof STYLES)[number]

const PLAIN = /^[a-z0-9][\w /.*-]*(?:, [\w /.-]+)*$/i

const scalar = (value: unknown, style: Style) =>
  style === 'plain' && typeof value === 'string' && PLAIN.test(value) ? value.trim() : JSON.stringify(value)

function textOf(book: Book, style: Style): string {
  if (style === 'json') return JSON.stringify({ name: 'fuzz', limits: book }, undefined, 1)
  if (style === 'yaml') return stringify({ name: 'fuzz', limits: book })
  const lines = Object.entries(book).map(
    ([name, value]) => `  ${JSON.stringify(name)}: ${scalar(value, style)}`,
  )
  return [...HEAD, ...lines].join('\n')
}

/** One change of a text. */
const edit = fc.record({
  at: fc.nat(),
  cut: fc.oneof(fc.nat(3), fc.nat(40)),
  put: fc.oneof(
    fc.constantFrom(
      '',
      ' ',
      '\n',
      '\n  ',
      ': ',
      ', ',
      '{',
      '}',
      '[',
      ']',
      '"',
      "'",
      '#',
      '- ',
      '&a ',
      '*a',
      '!!x ',
      '\t',
      '|',
      '---',
      '\u0000',
      '\ufeff',
      '0',
      '_',
      '\\',
    ),
    oddText,
  ),
})
const input = fc.record({
  book,
  style: fc.constantFrom(...STYLES),
  edits: fc.array(edit, { maxLength: 3 }),
})
type Input = typeof input extends fc.Arbitrary<infer Value> ? Value : never

const edited = (text: string, edits: Input['edits']) =>
  edits.reduce((whole, { at, cut, put }) => {
    const from = at % (whole.length + 1)
    return whole.slice(0, from) + put + whole.slice(from + cut)
  }, text)

/** What can be written into a file: hostile values cannot. Undefined where nothing is left. */
function writable(given: unknown): Book | undefined {
  try {
    const text = JSON.stringify(made(given))
    // YAML is refused for these before the settings are looked at.
    const isOfYaml = /"(?:__proto__|<<)":|":null/.test(text)
    // So is a mapping of nothing, which is left of functions.
    return text.length < 100_000 && text !== '{}' && !isOfYaml ? (JSON.parse(text) as Book) : undefined
  } catch (error) {
    // So do circular values, and bigints.
    if (error instanceof TrapError || error instanceof TypeError || error instanceof RangeError)
      return undefined
    throw error
  }
}

function composed(text: string, style: Style): Config | InvalidConfigError {
  const isVariable = style === 'variable'
  const env = isVariable ? { VELVET_ROPE_LIMITS: text } : {}
  const found = isVariable ? undefined : { bytes: Buffer.from(text), digest: '' }
  try {
    return composeConfig(PLACE, found, { env })
  } catch (error) {
    if (!(error instanceof InvalidConfigError)) throw error
    ok(error.problems.length > 0)
    for (const { where, message } of error.problems) {
      ok(message.length <= LONGEST_MESSAGE && !/\p{Control}/u.test(message), message)
      ok(
        /expected .|unknown (?:setting|variable|field)|not YAML|write |no setting is named|in quotes, '|under 1 ms, which timers/.test(
          message,
        ),
        message,
      )
      ok(isVariable ? where === 'VELVET_ROPE_LIMITS' : /^velvet-rope\.yaml(?::\d+:\d+)?$/.test(where), where)
    }
    return error
  }
}

/** What the settings say is what a shaper and a meter are opened with, and is read again as the same. */
async function open(config: Config): Promise<void> {
  const shaper = openShaper(config)
  const meter = openMeter(config, shaper)
  try {
    const listed = shaper.limits.list().map(({ pattern: name, limit: text }) => [name, text])
    deepStrictEqual(new Map(listed as [string, string][]), new Map(Object.entries(config.limits)))
    for (const text of Object.values(config.limits)) ok(readLimit(text) !== undefined, text)
    const again = composed(textOf(config.limits, 'json'), 'json')
    ok(!(again instanceof Error))
    deepStrictEqual(again.limits, config.limits)
  } finally {
    await meter.close()
    await shaper.close()
  }
}

async function check({ book: given, style, edits }: Input): Promise<void> {
  const book = writable(given)
  if (book === undefined) return
  const isPlain = edits.length === 0
  const text = style === 'variable' ? JSON.stringify(book) : textOf(book, style)
  const config = composed(isPlain ? text : edited(text, edits), style)
  if (!(config instanceof Error)) await open(config)
  if (!isPlain) return
  const entries = Object.entries(book)
  const wrong = entries.map(
    ([name, value]) =>
      readLimit(value) === undefined ||
      outcomeOf(() => parseRule(name, '1, 1/s'), 'invalid-key').kind === 'refused',
  )
  deepStrictEqual(config instanceof Error, wrong.includes(true), text)
  if (!(config instanceof Error)) {
    deepStrictEqual(
      Object.entries(config.limits).map(([name, value]) => [name, readLimit(value)]),
      entries.map(([name, value]) => [name, readLimit(value)]),
    )
  } else if (style === 'quoted' || style === 'plain') {
    const lines = config.problems.map(({ where }) => Number(where.split(':')[1]))
    deepStrictEqual(
      new Set(lines),
      new Set(wrong.flatMap((is, index) => (is ? [HEAD.length + 1 + index] : []))),
      `${text}\n${config.message}`,
    )
  }
}

/**
 * Limits in files and variables: each that a second reading understands is in force as it means, each other is named where it stands;
 * and of a text with changes anywhere either all is in force, or nothing.
 */
export const configLimits = machine({
  name: 'limits in configurations',
  inputs: input,
  few: 600,
  share: 8,
  open: async () => ({
    give: async (given: Input) => {
      await check(given)
      return 1
    },
    close: async () => undefined,
  }),
})
