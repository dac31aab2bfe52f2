import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Limit, parseLimit, Shaper } from '../../src/index.ts'
import { checkHistory, recordHistory, VirtualClock } from '../../src/testing.ts'

const MS = 1_000
const LIMITS = [
  '20, 20/s, 7 per 5 seconds',
  '20, 10/s, 100 tokens/second 20 each',
  '30, 50/s, 10/second, 40 per 7 seconds, 300 tokens per 3 seconds 30 each',
  '20, 20/s, 2 at once',
  '20, 20/s, 1 at once, 12 per 4 seconds, 150 tokens per 2 seconds 25 each',
  '20, 20/s, tolerance 0, 90 tokens/second 10 each',
  '10, 5/s',
]
/** Windows of one unit that are replaced by longer and shorter ones, and go for a time. */
const WINDOWS = [
  '20, 20/s, tolerance 0, 100 tokens/hour 50 each',
  '20, 20/s, tolerance 0, 100 tokens/second 50 each',
  '20, 20/s, tolerance 0',
]
/** No job is above a whole quota of any of the limits, so all depart in the end. */
const MOST_TOKENS = 60

const limit = fc.constantFrom(...LIMITS)
const tokens = fc.integer({ min: 1, max: MOST_TOKENS })

interface Drawn {
  readonly limits: readonly string[]
  readonly changes: number
  readonly longestMs: number
  /** So long at most a limit is in force until the one before is set again; absent: until the next. */
  readonly briefMs?: number
}

const scenarioOf = ({ limits, changes, longestMs, briefMs }: Drawn) => {
  const limit = fc.constantFrom(...limits)
  const forMs = briefMs === undefined ? fc.constant(undefined) : fc.integer({ min: 0, max: briefMs })
  const fate = fc.record({
    takesMs: fc.integer({ min: 0, max: longestMs }),
    settles: fc.option(fc.integer({ min: 0, max: 90 }), { nil: undefined }),
    fails: fc.boolean(),
  })
  return fc.record({
    first: limit,
    fates: fc.array(fate, { minLength: 1, maxLength: 6 }),
    steps: fc.array(stepOf(limit, forMs, changes), { minLength: 1, maxLength: 40, size: 'max' }),
  })
}

const stepOf = (limit: fc.Arbitrary<string>, forMs: fc.Arbitrary<number | undefined>, changes: number) =>
  fc.record({
    afterMs: fc.integer({ min: 0, max: 900 }),
    action: fc.oneof(
      {
        weight: 12,
        arbitrary: fc.record({
          do: fc.constant('enqueue' as const),
          cost: fc.integer({ min: 1, max: 3 }),
          tokens: fc.option(tokens, { nil: undefined }),
          deadlineMs: fc.option(fc.integer({ min: 1, max: 4_000 }), { nil: undefined, freq: 4 }),
        }),
      },
      {
        weight: 1,
        arbitrary: fc.record({ do: fc.constant('freeze' as const), forMs: fc.integer({ min: 1, max: 900 }) }),
      },
      { weight: changes, arbitrary: fc.record({ do: fc.constant('limit' as const), limit, forMs }) },
      {
        weight: 1,
        arbitrary: fc.record({
          do: fc.constant('turn' as const),
          tokens,
          holdsMs: fc.integer({ min: 0, max: 900 }),
        }),
      },
    ),
  })

/** A start as the oracle counts it: tokens as settled, from the time of the settlement on. */
interface Start {
  readonly at: number
  readonly cost: number
  /** What it said, or else what the limit said; of a unit that nothing counted, 0. */
  readonly tokens: number
  settled: number | undefined
}

/** A window of a unit: of a quota in force, or of one that is remembered. It knows the starts from that place on. */
interface Span {
  readonly unit: string | undefined
  readonly length: number
  readonly from: number
  readonly each: number | undefined
  /** When it is over; Infinity: it is in force. */
  readonly until: number
}

/** Judges each start by all before it, with nothing of the code under test but the reading of limits. */
class Oracle {
  readonly breaches: string[] = []
  readonly #starts: Start[] = []
  #limit: Limit
  #spans: Span[] = []
  #running = 0
  #left = 0

  constructor(text: string) {
    this.#limit = parseLimit(text)
    this.#replaceSpans(0)
  }

  get hasPlaces(): boolean {
    return this.#limit.concurrency < Number.POSITIVE_INFINITY
  }

  change(text: string, at: number): void {
    this.#limit = parseLimit(text)
    this.#left = this.#running
    this.#replaceSpans(at)
  }

  start(at: number, cost: number, named: number | undefined): Start {
    this.#forget(at)
    const each = this.#spans.find(({ unit }) => unit === 'tokens')?.each ?? 0
    const start: Start = { at, cost, tokens: named ?? each, settled: undefined }
    for (const { amount, unit, window } of this.#limit.quotas) {
      if (!('length' in window)) continue
      const span = this.#spans.find((one) => one.unit === unit && one.length === window.length)!
      const used = this.#used(span, at)
      const units = countOf(start, unit)
      if (used > 0 && used + units > amount) {
        this.breaches.push(`${at}: ${used} + ${units} of ${amount} ${unit ?? 'units'}`)
      }
    }
    this.#running++
    const places = Math.max(this.#limit.concurrency, this.#left)
    if (this.#running > places) this.breaches.push(`${at}: ${this.#running} of ${places} run`)
    this.#starts.push(start)
    return start
  }

  end(): void {
    this.#running--
    this.#left = Math.min(this.#left, this.#running)
  }

  #used({ unit, length, from }: Span, at: number): number {
    const before = this.#starts.slice(from).filter((one) => one.at > at - length)
    return before.reduce((sum, one) => sum + countOf(one, unit), 0)
  }

  /** What counts nothing more, or was replaced a whole window ago, is remembered no longer. */
  #forget(at: number): void {
    this.#spans = this.#spans.filter(
      (span) => span.until === Number.POSITIVE_INFINITY || (span.until > at && this.#used(span, at) > 0),
    )
  }

  /** A quota goes on from its own window, or else from the longest of its unit; what is replaced by none as long is remembered. */
  #replaceSpans(at: number): void {
    this.#forget(at)
    const known = this.#spans
    const current = this.#limit.quotas.flatMap(({ unit, each, window }): Span[] => {
      if (!('length' in window)) return []
      const { length } = window
      const ofUnit = known.filter((span) => span.unit === unit).sort((a, b) => b.length - a.length)
      const source = ofUnit.find((span) => span.length === length) ?? ofUnit[0]
      const begin = source === undefined ? this.#starts.length : this.#firstIn(source, at)
      return [{ unit, length, each, from: begin, until: Number.POSITIVE_INFINITY }]
    })
    const past = known
      .map((span) => ({ ...span, until: Math.min(span.until, at + span.length) }))
      .filter((span) => !current.some(({ unit, length }) => unit === span.unit && length >= span.length))
      .filter((span) => this.#used(span, at) > 0)
      .map((span) => ({ ...span, each: current.find(({ unit }) => unit === span.unit)?.each ?? span.each }))
    this.#spans = [...current, ...past]
  }

  #firstIn({ from, length }: Span, at: number): number {
    const first = this.#starts.findIndex((start) => start.at > at - length)
    return Math.max(from, first === -1 ? this.#starts.length : first)
  }
}

function countOf({ cost, tokens, settled }: Start, unit: string | undefined): number {
  return unit === undefined ? cost : (settled ?? tokens)
}

test.each<[string, Drawn]>([
  ['whatever comes, settles, fails or changes', { limits: LIMITS, changes: 1, longestMs: 700 }],
  [
    'windows come and go while handlers run',
    { limits: WINDOWS, changes: 3, longestMs: 9_000, briefMs: 3_000 },
  ],
])('%s: no quota is exceeded and no place is taken twice', async (_, drawn) => {
  await fc.assert(
    fc.asyncProperty(scenarioOf(drawn), async ({ first, fates, steps }) => {
      const clock = new VirtualClock()
      const shaper = new Shaper<number | null>('sets', {
        limits: { '*': first },
        clock,
        jobDefaults: { attempts: 2, backoff: 300 },
      })
      const recording = recordHistory(shaper, clock)
      const oracle = new Oracle(first)
      let calls = 0
      shaper.work(
        recording.timed(async (job) => {
          const { takesMs, settles, fails } = fates[calls++ % fates.length]!
          const start = oracle.start(clock.now(), job.cost, job.data ?? undefined)
          try {
            await clock.sleep(takesMs * MS)
            const units = shaper.limits.resolve('k').limit.includes('tokens')
            if (
              settles !== undefined &&
              units &&
              (await job.settle({ tokens: settles }).catch(() => false))
            ) {
              start.settled = settles
            }
            if (fails) throw new Error('no')
          } finally {
            oracle.end()
          }
        }),
      )
      const setLimit = async (text: string) => {
        // A caller whose turn has come hears of it a moment later.
        await clock.advance(0)
        await shaper.limits.set('*', text)
        oracle.change(text, clock.now())
      }
      for (const { afterMs, action } of steps) {
        await clock.advance(afterMs * MS)
        if (action.do === 'freeze') await shaper.freeze('k', action.forMs)
        else if (action.do === 'limit') {
          await setLimit(action.limit)
          if (action.forMs === undefined) continue
          await clock.advance(action.forMs * MS)
          await setLimit(first)
        } else if (action.do === 'turn') {
          void shaper
            .acquire('k', { costs: { tokens: action.tokens } })
            .then(async (turn) => {
              oracle.start(clock.now(), 1, action.tokens)
              // Where nothing counts places, a turn has ended as soon as it starts.
              const { hasPlaces } = oracle
              if (!hasPlaces) oracle.end()
              await clock.sleep(action.holdsMs * MS)
              if (hasPlaces) oracle.end()
              await turn.release()
            })
            .catch(() => undefined)
        } else {
          const { cost, tokens: named, deadlineMs } = action
          await shaper.enqueue('k', named ?? null, {
            cost,
            ...(named !== undefined && { costs: { tokens: named } }),
            ...(deadlineMs !== undefined && { deadlineMs }),
          })
        }
      }
      await clock.advance(180_000_000 * MS)
      expect(oracle.breaches).toEqual([])
      expect((await shaper.audit()).waiting + (await shaper.audit()).retrying).toBe(0)
      await recording.audit()
      expect(checkHistory(recording.history)).toEqual([])
      await shaper.close()
    }),
    { numRuns: 150 },
  )
})

const asked = fc.record({
  afterMs: fc.integer({ min: 0, max: 300 }),
  cost: fc.integer({ min: 1, max: 3 }),
  tokens: fc.option(tokens, { nil: undefined }),
})
/** How long a start runs before it is settled for a share of what it said, in hundredths; null: it says nothing. */
const settling = fc.record({
  takesMs: fc.constantFrom(0, 0, 300, 900),
  share: fc.option(fc.integer({ min: 0, max: 100 }), { nil: null }),
})

test('an exact time comes true when nothing comes between, and after it a refused request is accepted', async () => {
  await fc.assert(
    fc.asyncProperty(
      limit,
      fc.array(asked, { minLength: 1, maxLength: 60, size: 'max' }),
      fc.array(settling, { minLength: 1, maxLength: 5 }),
      async (text, line, settlings) => {
        const clock = new VirtualClock()
        const shaper = new Shaper<number>('exact', { limits: { '*': text }, clock })
        const departed = new Map<string, number>()
        shaper.on('departed', ({ id, at }) => void departed.set(id, at))
        let calls = 0
        const each = Number(/ (\d+) each/.exec(text)?.[1] ?? 0)
        // What settles for less than it said moves no exact time.
        shaper.work(async (job) => {
          const { takesMs, share } = settlings[calls++ % settlings.length]!
          await clock.sleep(takesMs * MS)
          const said = job.data > 0 ? job.data : each
          if (share !== null && each > 0) await job.settle({ tokens: Math.floor((said * share) / 100) })
        })
        const promised = new Map<string, number>()
        for (const { afterMs, cost, tokens: named } of line) {
          await clock.advance(afterMs * MS)
          const options = { cost, ...(named !== undefined && { costs: { tokens: named } }) }
          const answer = await shaper.enqueue('k', named ?? 0, options)
          if (answer.accepted) {
            if (!answer.isEstimate) promised.set(answer.id, answer.departsAt)
            continue
          }
          expect(answer.reason).toBe('full')
          if (answer.isEstimate) continue
          await clock.advance(answer.retryAfterMs * MS)
          expect(await shaper.enqueue('k', named ?? 0, options)).toMatchObject({ accepted: true })
        }
        await clock.advance(600_000 * MS)
        for (const [id, at] of promised) expect(departed.get(id)).toBeCloseTo(at, 2)
        await shaper.close()
      },
    ),
    { numRuns: 150 },
  )
})
