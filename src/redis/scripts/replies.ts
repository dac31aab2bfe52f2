import { z } from 'zod'

/** Whole numbers come as they are, others as text of 17 digits, because Redis would cut them. */
export const number = z.union([
  z.number(),
  z.string().transform((text, context) => {
    const value =
      text === 'inf' ? Number.POSITIVE_INFINITY : text === '-inf' ? Number.NEGATIVE_INFINITY : Number(text)
    if (Number.isNaN(value)) context.addIssue(`expected a number, got: ${text.slice(0, 40)}`)
    return value
  }),
])
export const flagReply = z.union([
  z.enum(['0', '1']).transform((text) => text === '1'),
  z.literal([0, 1]).transform((is) => is === 1),
])
const rejectReason = z.enum(['full', 'deadline', 'paused', 'too-costly'])

const refusedCall = [
  z.tuple([z.literal('old-book'), number]),
  z.tuple([z.literal('conflict'), z.string()]),
  z.tuple([z.literal('no-limit'), z.string()]),
] as const

const shards = z.int().min(0).max(256)
const otherShards = z.tuple([z.literal('shards'), shards])
export const layoutReply = z.union([
  z.tuple([z.literal('ok'), shards]),
  z.tuple([z.literal('other'), shards, number]),
])

export const forecastReply = z.union([
  z.tuple([z.literal('ok'), number, z.literal('yes'), number, number, number, number]),
  z.tuple([z.literal('ok'), number, z.literal('no'), rejectReason, number, number, number]),
  refusedCall[0],
])
export const cancelReply = z.union([
  z.tuple([z.literal('ok'), number, z.string(), number, number]),
  z.tuple([z.literal('none')]),
])
export const holdReply = z.union([
  z.tuple([z.literal('ok'), number, number, number, number]),
  refusedCall[0],
  otherShards,
  z.tuple([z.literal('no-limit')]),
])
export const bookReply = z.union([z.tuple([z.literal('ok'), number, number, z.string()]), refusedCall[0]])
export const retimeReply = z.union([z.tuple([z.literal('ok'), number]), refusedCall[0]])

/** After the first numbers a flat list, which `inGroups` or `inVerdicts` cuts. */
const value = z.union([z.string(), z.number()])
export const admitReply = z.union([z.tuple([z.literal('ok'), number], value), ...refusedCall, otherShards])
export const verdictReply = z.union([
  z.tuple([z.literal('yes'), number, number, number, number]),
  z.tuple([z.literal('again'), number, number, number, number, number]),
  z.tuple([rejectReason, number, number, number]),
])
export const claimReply = z.union([
  z.tuple([z.literal('ok'), number, number, number, number, number, number, number], value),
  z.tuple([z.literal('follow'), number, number]),
])
export const sweepReply = z.tuple([number], value)

const gateAnswer = z.union([
  z.tuple([
    z.literal('granted'),
    number,
    number,
    number,
    number,
    z.string(),
    number,
    z.string(),
    z.string(),
    number,
    number,
    number,
    z.string(),
    z.string(),
    number,
    number,
    number,
    number,
  ]),
  z.tuple([z.literal('data'), number]),
  z.tuple([z.literal('wait'), number]),
  z.tuple([z.literal('returned')]),
  z.tuple([z.literal('expired'), z.string(), number, number]),
  z.tuple([z.literal('stale')]),
  z.tuple([z.literal('foreign')]),
])
export type GateAnswerReply = z.output<typeof gateAnswer>
export const gateReply = z.tuple([number, number], gateAnswer)
export const fetchReply = z.array(z.string())
export const fetchedReply = z.tuple([z.enum(['yes', 'stale', 'foreign']), z.string()])
export const flagsReply = z.array(flagReply)
export const finishReply = z.tuple([number], z.union([flagReply, number]))

export const staleReply = z.tuple([number, z.string()], z.string())

/** How many values each verdict of `admit` has; a refusal has four. */
const VERDICT_SIZES: Readonly<Record<string, number>> = { yes: 5, again: 6 }

/** Cuts the verdicts of `admit` apart, in their order. */
export function inVerdicts(values: readonly (string | number)[]): (string | number)[][] {
  const verdicts: (string | number)[][] = []
  let from = 0
  while (from < values.length) {
    const size = VERDICT_SIZES[values[from]!] ?? 4
    verdicts.push(values.slice(from, from + size))
    from += size
  }
  return verdicts
}

/** Cuts a flat list into groups of `size`. */
export function inGroups<Value>(values: readonly Value[], size: number): Value[][] {
  const groups: Value[][] = []
  for (let from = 0; from < values.length; from += size) groups.push(values.slice(from, from + size))
  return groups
}
