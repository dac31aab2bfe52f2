import { accepted, rejected } from '../../core/admission.ts'
import { IdConflictError, isVelvetRopeError, NoLimitError, ShardCountError } from '../../core/errors.ts'
import type { Admission } from '../../core/job.ts'
import type { LayeredBook } from '../../core/layered-book.ts'
import type { Rule, TotalRule } from '../../core/rule-book.ts'
import { Semaphore, Units } from '../../core/semaphore.ts'
import type { FullMemory } from '../connection/full-memory.ts'
import { agreed } from '../rules/agreed.ts'
import { quotaText, ruleValues } from '../rules/book.ts'
import type { RedisRules } from '../rules/redis-rules.ts'
import { ruleToAdmit } from '../rules/unknown-zones.ts'
import { MOST_PER_CALL } from '../scripts/prelude.ts'
import { type Answer, list, number, oneOf, rest, text } from '../scripts/reply.ts'
import { defineScript } from '../scripts/script.ts'
import type { Store } from '../scripts/store.ts'
import { type NamedRequest, orderOfCalls, sizeOfCall, weightUnder } from './admit-calls.ts'
import { byTotal, rejectedByTotal } from './by-total.ts'
import { costsText, encodeSettings } from './settings-text.ts'

const place = { departsAt: number, waiting: number, capacity: number, position: number }
const refused = { retryAt: number, waiting: number, capacity: number }
const verdictReply = oneOf({
  yes: place,
  'yes~': place,
  again: { ...place, admittedAt: number },
  'again~': { ...place, admittedAt: number },
  full: refused,
  'full~': refused,
  deadline: refused,
  'deadline~': refused,
  paused: refused,
  'paused~': refused,
  'too-costly': refused,
  above: { quota: number, waiting: number, capacity: number },
  under: byTotal,
})
type Place = Extract<Answer<typeof verdictReply>, { readonly kind: 'yes' | 'yes~' | 'again' | 'again~' }>
const reply = list(
  oneOf({
    ok: { at: number, verdicts: rest(verdictReply) },
    'old-book': { version: number },
    shards: { shards: number },
    conflict: { id: text },
    'no-limit': { key: text },
  }),
)
const script = defineScript('admit', import.meta.url, reply)

/** Calls under way to one shard. */
const MOST_CALLS = 4
/** A verdict and the moment at which it was given. */
export interface TimedAdmission {
  readonly admission: Admission
  readonly at: number
}

/**
 * -> waiting, or refused with nothing changed. Requests of one shard, in calls as large as `sizeOfCall` says; if one of
 * a call is invalid, none of it is admitted. `deadline` is a duration.
 *
 * @throws NoLimitError, UnknownZoneError, IdConflictError, ShardCountError, BackendUnavailableError
 */
export function admitVerb(store: Store, rules: RedisRules, memory: FullMemory) {
  const calls = store.tags.map(() => new BoundedCalls(MOST_CALLS))
  const admit = async (shard: number, requests: readonly NamedRequest[], now?: number) => {
    const { found, book } = await agreed(rules, shard, (asked) =>
      store.write(script, shard, values(requests, asked, rules.version, store.shards), now),
    )
    if (found.kind === 'conflict') throw new IdConflictError(found.id)
    if (found.kind === 'no-limit') throw new NoLimitError(found.key)
    if (found.kind === 'shards') throw new ShardCountError(found.shards, store.shards)
    return found.verdicts.map((verdict, index) => admissionOf(requests[index]!, verdict, found.at, book))
  }
  return async (
    shard: number,
    requests: readonly NamedRequest[],
    now?: number,
  ): Promise<TimedAdmission[]> => {
    memory.assertRoom('no job is admitted')
    const weightOf = (key: string) =>
      weightUnder(rules.book.find(key)?.limit, rules.book.totalsOf(key).length)
    let size = sizeOfCall(requests, 0, weightOf)
    const order = size < requests.length ? orderOfCalls(requests) : undefined
    const asked = order?.map((place) => requests[place]!) ?? requests
    if (order !== undefined) size = sizeOfCall(asked, 0, weightOf)
    const admissions: TimedAdmission[] = Array(requests.length)
    let from = 0
    let most = MOST_PER_CALL
    while (from < asked.length) {
      const some = asked.slice(from, from + Math.min(most, size))
      const found = await calls[shard]!.run(() => admit(shard, some, now))
      for (let index = 0; index < found.length; index++) {
        const place = from + index
        admissions[order === undefined ? place : order[place]!] = found[index]!
      }
      from += found.length
      // Where a call judges only the first of them, the next one is about as large as it can be.
      most = found.length < some.length ? 2 * found.length : MOST_PER_CALL
      size = sizeOfCall(asked, from, weightOf)
    }
    return admissions
  }
}

/** Jobs of one call that differ in no more than their id, their key, their trace and their data. */
interface Kind {
  readonly first: NamedRequest
  readonly rule: Rule | undefined
  readonly totals: readonly TotalRule[]
}

/** Most jobs of a call are of one kind, which is written once: the fewer values travel, the less Redis has to read. */
function values(
  requests: readonly NamedRequest[],
  book: LayeredBook,
  version: number,
  shards: number,
): (string | number)[] {
  const kinds: Kind[] = []
  const jobs: (string | number)[] = []
  for (const request of requests) {
    const rule = ruleToAdmit(book, request.key)
    const totals = book.totalsOf(request.key)
    const isKind = (known: Kind) =>
      known.rule === rule && isAlike(known.first, request) && haveEqual(known.totals, totals)
    let kind = kinds.findIndex(isKind)
    if (kind === -1) kind = kinds.push({ first: request, rule, totals }) - 1
    jobs.push(request.id, request.key, kind + 1, request.traceparent ?? '', request.data)
  }
  return [version, shards, kinds.length, ...kinds.flatMap(kindValues), ...jobs]
}

function isAlike(a: NamedRequest, b: NamedRequest): boolean {
  return (
    a.settings === b.settings &&
    a.cost === b.cost &&
    a.deadline === b.deadline &&
    (a.costs === b.costs || costsText(a.costs) === costsText(b.costs))
  )
}

function haveEqual(a: readonly TotalRule[], b: readonly TotalRule[]): boolean {
  return (
    a.length === b.length &&
    a.every(({ path, limit }, index) => path === b[index]!.path && limit === b[index]!.limit)
  )
}

function kindValues({ first: { cost, costs, deadline, settings }, rule, totals }: Kind): (string | number)[] {
  const until = deadline === Number.POSITIVE_INFINITY ? 'inf' : deadline
  return [cost, until, encodeSettings(settings, costs), ...ruleValues(rule, totals)]
}

function admissionOf(
  { id, key }: NamedRequest,
  verdict: Answer<typeof verdictReply>,
  now: number,
  book: LayeredBook,
): TimedAdmission {
  switch (verdict.kind) {
    case 'yes':
      return { admission: accepted(id, key, verdict, now), at: now }
    case 'yes~':
      return { admission: accepted(id, key, estimatedPlace(verdict), now), at: now }
    case 'again':
    case 'again~': {
      const at = verdict.admittedAt
      const place = verdict.kind === 'again' ? verdict : estimatedPlace(verdict)
      return { admission: { ...accepted(id, key, place, at), replayed: true }, at }
    }
    case 'above':
      return {
        admission: rejected(
          key,
          'too-costly',
          { ...verdict, retryAt: Infinity, quota: quotaText(book, key, verdict.quota) },
          now,
        ),
        at: now,
      }
    case 'under':
      return { admission: rejectedByTotal(key, verdict, now, book), at: now }
    default: {
      const [reason, isEstimate] = estimated(verdict.kind)
      return { admission: rejected(key, reason, { ...verdict, ...isEstimate }, now), at: now }
    }
  }
}

/** To spread the verdict here takes longer than all the rest. */
function estimatedPlace({ position, departsAt, waiting, capacity }: Place) {
  return { position, departsAt, waiting, capacity, isEstimate: true } as const
}

/** The word before the mark of an estimate. */
function estimated<Word extends string>(said: Word | `${Word}~`): [Word, { isEstimate: true } | undefined] {
  return said.endsWith('~') ? [said.slice(0, -1) as Word, { isEstimate: true }] : [said as Word, undefined]
}

/**
 * Runs a limited number of calls at a time; the others wait in order, so that one process cannot overload its Redis. When a
 * call fails because Redis is unavailable, all waiting calls fail with the same error.
 */
class BoundedCalls {
  readonly #calls: Semaphore<number>

  constructor(most: number) {
    this.#calls = new Semaphore(new Units(most))
  }

  async run<Answer>(call: () => Promise<Answer>): Promise<Answer> {
    if (!this.#calls.tryTake(1)) {
      await new Promise<void>((resolve, reject) => void this.#calls.take(1, resolve, reject))
    }
    try {
      return await call()
    } catch (error) {
      if (isVelvetRopeError(error, 'backend-unavailable')) this.#calls.refuseAll(error)
      throw error
    } finally {
      this.#calls.release(1)
    }
  }
}
