import { z } from 'zod'
import { BASE_ORIGINS } from '../../core/rule-view.ts'

/** Increases with every change. */
const version = z.int().min(1)
/** Digests of replaced layers, the newest last. */
const former = z.array(z.string()).max(100)

/** Who set it, and when, in microseconds. */
const author = z.strictObject({ by: z.string().optional(), at: z.number().optional() })
const entry = author.extend({ pattern: z.string(), limit: z.string() })
const override = entry.extend({ limit: z.string().optional() })
const origin = z.enum(BASE_ORIGINS)

const bookText = z.strictObject({
  schema: z.literal(3),
  version,
  layers: z.record(origin, z.array(entry)),
  /** Patterns that were set at run time; without a limit, the pattern was unset. */
  overrides: z.array(override),
  /** Who last set each layer, and when. */
  brought: z.partialRecord(origin, author),
  former: z.record(origin, former),
  /** Ids of the latest changes. */
  changes: z.array(z.string()),
})
/** The rule book as it is written. */
export type BookText = z.output<typeof bookText>

/** Pairs of pattern and limit. A record would not keep the order: it puts numeric patterns first. */
const pairs = z.array(z.tuple([z.string(), z.string()]))

/** The previous schema: no layer for the environment, and no authors. */
const bookTwo = z.strictObject({
  schema: z.literal(2),
  version,
  code: pairs,
  file: pairs,
  overrides: z.array(override),
  former: z.strictObject({ code: former, file: former }),
})

/** The first schema: one layer for code and files. `rules` are all rules in force, `byHand` the patterns of overrides. */
const bookOne = z.strictObject({
  schema: z.literal(1),
  version,
  rules: pairs,
  base: pairs,
  byHand: z.array(z.string()),
  former,
})

/** The rule book in any of its schemas. */
export const anyText = z.discriminatedUnion('schema', [bookText, bookTwo, bookOne])

/** Converts a book to the current schema. */
export function newest(text: z.output<typeof anyText>): BookText {
  if (text.schema === 3) return text
  if (text.schema === 2) return ofTwo(text)
  return ofTwo(ofOne(text))
}

function ofTwo({ version, code, file, overrides, former }: z.output<typeof bookTwo>): BookText {
  return {
    schema: 3,
    version,
    layers: { code: entriesOf(code), file: entriesOf(file), environment: [] },
    overrides,
    brought: {},
    former: { ...former, environment: [] },
    changes: [],
  }
}

function ofOne({ version, rules, base, byHand, former }: z.output<typeof bookOne>): z.output<typeof bookTwo> {
  const limits = new Map(rules)
  const known = new Set([...rules, ...base].map(([pattern]) => pattern))
  const overrides = byHand
    .filter((pattern) => known.has(pattern))
    .map((pattern) => ({ pattern, limit: limits.get(pattern) }))
  return { schema: 2, version, code: base, file: [], overrides, former: { code: former, file: [] } }
}

function entriesOf(from: z.output<typeof pairs>): z.output<typeof entry>[] {
  return from.map(([pattern, limit]) => ({ pattern, limit }))
}
