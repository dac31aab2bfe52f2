import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { expect, onTestFinished } from 'vitest'
import { joinHistories } from '../../src/demo/shared/joint-history.ts'
import { type AcquireOptions, Shaper, type ShaperOptions } from '../../src/index.ts'
import { checkHistory, type HistoryEvent, type Recording, recordHistory } from '../../src/testing.ts'
import { built } from '../support/built.ts'
import { redisAddress, uniquePrefix } from '../support/redis-server.ts'

/** What news of starts may take on a busy machine; microseconds. */
const LAG = 400_000
/** So much of the time of a total may be handed over and not have started; microseconds. */
const HANDED = 250_000

/** Several shapers on the lines of one Redis, as if each were a process; every departure in one list. */
export class TurnsStage {
  readonly prefix = uniquePrefix()
  readonly errors: Error[] = []
  /** The callers that departed, with their fences, which give the order. */
  readonly departed: (readonly [name: string, fence: number, ms: number])[] = []
  readonly #limits: Readonly<Record<string, string>>
  readonly #url: string
  readonly #recordings: Recording[] = []
  readonly #shapers: Shaper[] = []

  /** @param limits by pattern, or one for all keys */
  constructor(limits: string | Readonly<Record<string, string>>, url = redisAddress()) {
    this.#limits = typeof limits === 'string' ? { '*': limits } : limits
    this.#url = url
  }

  /** Closed at the end of the test at the latest. */
  async open(options: Partial<ShaperOptions> = {}): Promise<Shaper> {
    const { prefix, errors } = this
    const shaper = new Shaper('turns', {
      limits: this.#limits,
      connection: this.#url,
      prefix,
      ...options,
    })
    shaper.on('error', (error) => void errors.push(error))
    this.#recordings.push(recordHistory(shaper))
    this.#shapers.push(shaper)
    onTestFinished(() => shaper.close())
    await shaper.ready()
    return shaper
  }

  /** Asks for a turn; resolves when the caller is in the line, with the promise of the turn in an object. */
  async caller(shaper: Shaper, name: string, options: AcquireOptions = {}, key = 'k') {
    const admitted = new Promise<string>((resolve) => {
      const onAdmitted = ({ id }: { readonly id: string }) => {
        shaper.off('admitted', onAdmitted)
        resolve(id)
      }
      shaper.on('admitted', onAdmitted)
    })
    const turn = shaper.acquire(key, options).then((turn) => {
      this.departed.push([name, turn.fence, turn.departedAt])
      return turn
    })
    // A test may look later.
    turn.catch(() => undefined)
    return { turn, id: await admitted }
  }

  /** A process that holds a place of the key. */
  async holder(key = 'k') {
    const script = built('test/support/children/holds.ts')
    const limits = JSON.stringify(this.#limits)
    const child = spawn(process.execPath, [script, this.#url, this.prefix, limits, key], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    const lines = createInterface(child.stdout)
    await once(lines, 'line')
    return { child, said: async () => String((await once(lines, 'line'))[0]) }
  }

  /** The names in the order of their departures. */
  names(): string[] {
    return this.departed.toSorted(([, one], [, other]) => one - other).map(([name]) => name)
  }

  /** Milliseconds from each departure to the next. */
  gaps(): number[] {
    const times = this.departed.map(([, , ms]) => ms).toSorted((one, other) => one - other)
    return times.slice(1).map((ms, index) => ms - times[index]!)
  }

  /** All have ended, no law was broken by all of them together, and the books balance. */
  async conforms(lag = LAG): Promise<void> {
    const joint = () => joinHistories(this.#recordings.map(({ history }) => history))
    const ofType = (type: HistoryEvent['type']) =>
      joint().flatMap((event) => (event.type === type && 'id' in event ? [event.id] : []))
    // The end of a turn is reported to the store when its caller has gone.
    await expect.poll(() => ofType('end').toSorted()).toEqual(expect.arrayContaining(ofType('start')))
    const audit = await this.#shapers.at(-1)!.audit()
    expect(audit).toEqual({ ...NONE, admitted: audit.admitted, ended: audit.admitted })
    expect(checkHistory(joint(), { lag, settle: lag, handed: HANDED })).toEqual([])
  }
}

const NONE = { waiting: 0, handed: 0, running: 0, retrying: 0 }
