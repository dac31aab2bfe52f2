import { isVelvetRopeError } from '../core/errors.ts'
import type { Admission, Rejected } from '../core/job.ts'
import { twinName } from '../core/job-name.ts'
import type { JobRequest } from './job.ts'
import type { LocalLimits } from './local-limits.ts'

/** How a line is asked under local limits. */
interface AdmittingLine<Answers> {
  /** The verdicts of the line, in order. */
  admit(requests: readonly JobRequest[]): Answers
  /** Called for each request that the local limits refused, when the line has judged the others. */
  readonly onRefused: OnRefused
}

type OnRefused = (request: JobRequest, refusal: Rejected) => void

interface LocalLine extends AdmittingLine<Admission[]> {
  isKnown(id: string, key: string): boolean
}

interface AsyncLine extends AdmittingLine<Promise<Admission[]>> {
  isKnown(id: string, key: string): Promise<boolean>
}

/** Asks the local limits, then the line; the verdicts are in the order of the requests. */
export function admitUnderLocalLimits(
  limits: LocalLimits,
  requests: readonly JobRequest[],
  line: LocalLine,
): Admission[] {
  const known = namesOf(requests)
    .filter(({ id, key }) => line.isKnown(id, key))
    .map(nameOf)
  const call = new LimitedCall(limits, requests, known)
  try {
    return call.answer(call.isEmpty ? [] : line.admit(call.passing), line.onRefused)
  } catch (error) {
    call.fail(error)
    throw error
  }
}

/** The same for a line that answers later. */
export async function admitUnderLocalLimitsAsync(
  limits: LocalLimits,
  requests: readonly JobRequest[],
  line: AsyncLine,
): Promise<Admission[]> {
  const names = namesOf(requests)
  const answers = await Promise.all(names.map(({ id, key }) => line.isKnown(id, key)))
  const known = names.filter((_, index) => answers[index]).map(nameOf)
  const call = new LimitedCall(limits, requests, known)
  try {
    return call.answer(call.isEmpty ? [] : await line.admit(call.passing), line.onRefused)
  } catch (error) {
    call.fail(error)
    throw error
  }
}

interface Named {
  readonly id: string
  readonly key: string
}

/** Ids that producers gave: a job that was admitted before under the same id takes nothing. The id of a turn is never used again. */
function namesOf(requests: readonly JobRequest[]): Named[] {
  return requests.flatMap(({ id, key, isTurn }) => (id === undefined || isTurn ? [] : [{ id, key }]))
}

/** Each first segment has ids of its own. */
function nameOf({ id, key }: Named): string {
  return twinName(id, key)
}

/** One call: which requests the local limits refuse, and what the others hold until the line has answered. */
class LimitedCall {
  readonly passing: JobRequest[] = []
  readonly #requests: readonly JobRequest[]
  /** In the order of the requests; undefined for those that pass. */
  readonly #refusals: (Rejected | undefined)[] = []
  readonly #releases: ((admitted: number) => void)[] = []

  constructor(limits: LocalLimits, requests: readonly JobRequest[], known: readonly string[]) {
    this.#requests = requests
    const before = new Set(known)
    for (const request of requests) {
      const { id, key, cost } = request
      const name = id === undefined ? undefined : nameOf({ id, key })
      const isAgain = name !== undefined && before.has(name)
      const refusal = isAgain ? undefined : limits.refusal(key, cost)
      this.#refusals.push(refusal)
      if (refusal !== undefined) continue
      this.passing.push(request)
      this.#releases.push(limits.hold(key, isAgain ? 0 : cost))
      if (name !== undefined) before.add(name)
    }
  }

  get isEmpty(): boolean {
    return this.passing.length === 0
  }

  answer(verdicts: readonly Admission[], onRefused: OnRefused): Admission[] {
    for (const [index, verdict] of verdicts.entries()) {
      const isIn = verdict.accepted && verdict.replayed === undefined
      this.#releases[index]!(isIn ? this.passing[index]!.cost : 0)
    }
    this.#releases.length = 0
    let passed = 0
    return this.#refusals.map((refusal, index) => {
      if (refusal === undefined) return verdicts[passed++]!
      onRefused(this.#requests[index]!, refusal)
      return refusal
    })
  }

  /** Releases what is held: none was admitted; or, if the store is unavailable, all may have been, and count. */
  fail(error: unknown): void {
    const mayBeIn = isVelvetRopeError(error, 'backend-unavailable')
    for (const [index, release] of this.#releases.entries()) {
      release(mayBeIn ? this.passing[index]!.cost : 0)
    }
    this.#releases.length = 0
  }
}
