import type { Call, End, FaultSeen, Return, Start, Testimony } from './testimony.ts'

/** All that was seen of one job. */
export interface JobSeen {
  readonly id: string
  readonly key: string
  readonly cost: number
  readonly admits: readonly Call[]
  readonly cancels: readonly Call[]
  readonly starts: readonly Start[]
  readonly returns: readonly Return[]
  readonly ends: readonly End[]
  readonly faults: readonly FaultSeen[]
  /** When it can have come into its line; undefined when it never can have. */
  readonly admission: Admission | undefined
}

/** From the first call that may have admitted the job to the moment from which it must have been there. */
export interface Admission {
  readonly from: number
  readonly to: number
  readonly place: number
  /** One call alone can have admitted it, with those that it asked for before and after. */
  readonly isOfOneCall: boolean
  /** It is known to have been admitted. */
  readonly isCertain: boolean
}

export function jobsOf(testimony: Testimony): JobSeen[] {
  const ids = new Set([
    ...testimony.calls.map(({ id }) => id),
    ...testimony.starts.map(({ id }) => id),
    ...testimony.ends.map(({ id }) => id),
  ])
  const calls = groupById(testimony.calls)
  const starts = groupById(testimony.starts)
  const returns = groupById(testimony.returns)
  const ends = groupById(testimony.ends)
  const faults = groupById(testimony.faults)
  return [...ids].map((id) => {
    const ofJob = (calls.get(id) ?? []).toSorted((a, b) => a.from - b.from)
    const admits = ofJob.filter((call) => call.do === 'admit')
    const started = (starts.get(id) ?? []).toSorted((a, b) => a.at - b.at)
    const ended = (ends.get(id) ?? []).toSorted((a, b) => a.seenAt - b.seenAt)
    const { key = '', cost = 1 } = admits[0] ?? started[0] ?? {}
    return {
      id,
      key,
      cost,
      admits,
      cancels: ofJob.filter((call) => call.do === 'cancel'),
      starts: started,
      returns: (returns.get(id) ?? []).toSorted((a, b) => a.seenAt - b.seenAt),
      ends: ended,
      faults: (faults.get(id) ?? []).toSorted((a, b) => a.at - b.at),
      admission: admissionOf(admits, started[0]?.at, ended[0]?.seenAt),
    }
  })
}

/** A refusal says that no call before it had admitted the job, so only calls after the last refusal count. */
function admissionOf(
  admits: readonly Call[],
  startedAt = Number.POSITIVE_INFINITY,
  endedAt = Number.POSITIVE_INFINITY,
): Admission | undefined {
  const refused = admits.findLastIndex(({ answer }) => answer !== 'accepted' && answer !== 'unknown')
  const open = admits.slice(refused + 1)
  const [first] = open
  if (first === undefined) return undefined
  const accepted = open.find(({ answer }) => answer === 'accepted')
  const to = Math.min(accepted?.to ?? Number.POSITIVE_INFINITY, startedAt, endedAt)
  const isOfOneCall = open.length === 1 || first.answer === 'accepted'
  return { from: first.from, to, place: first.place, isOfOneCall, isCertain: to < Number.POSITIVE_INFINITY }
}

function groupById<Item extends { readonly id: string }>(items: readonly Item[]): Map<string, Item[]> {
  const groups = new Map<string, Item[]>()
  for (const item of items) {
    const group = groups.get(item.id)
    if (group === undefined) groups.set(item.id, [item])
    else group.push(item)
  }
  return groups
}
