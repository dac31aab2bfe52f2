import { describe, expect, it } from 'vitest'
import { shapedFetch } from '../../../src/fetch.ts'
import { type AcquireOptions, UnknownUnitError } from '../../../src/index.ts'
import { Stage } from '../../support/stage.ts'

const LLM = '500, 500/minute, 90000 tokens/minute 1200 each'
const SECOND = 1_000
const MINUTE = 60 * SECOND

/** Enqueues jobs of one key with these costs in tokens, named 1, 2 and so on. */
function ask(stage: Stage, tokens: readonly number[]) {
  return stage.shaper.enqueueMany(
    tokens.map((units, index) => ({ key: 'a', data: 0, id: `${index + 1}`, costs: { tokens: units } })),
  )
}

async function turnOf(stage: Stage, options: AcquireOptions = {}) {
  const turn = stage.shaper.acquire('a', options)
  await stage.pass(0)
  return turn
}

describe('a quota', () => {
  it('is asked and charged in one step: five calls do not use 663 of 100 tokens', async () => {
    const stage = new Stage('20, 100/s, 100 tokens/minute 10 each')
    stage.shaper.work(() => stage.sleep(500))
    await ask(stage, [60, 60, 60, 60, 60])
    await stage.pass(5 * MINUTE)
    const starts = stage.starts.map(([, ms]) => ms)
    expect(starts.length).toBe(5)
    for (const [index, ms] of starts.slice(1).entries()) {
      expect(ms - starts[index]!).toBeGreaterThan(MINUTE)
      expect(ms - starts[index]!).toBeLessThanOrEqual((MINUTE * 61) / 60 + 20)
    }
    await stage.conforms()
  })

  it('refuses a call larger than all of it at once, and names it', async () => {
    const stage = new Stage(LLM)
    const [refused] = await ask(stage, [90_001])
    expect(refused).toMatchObject({ accepted: false, reason: 'too-costly', quota: '90000 tokens/minute' })
    expect(refused).toMatchObject({ retryAfterMs: Number.POSITIVE_INFINITY })
    expect(await stage.shaper.forecast('a', { costs: { tokens: 90_001 } })).toMatchObject({
      quota: '90000 tokens/minute',
    })
    expect((await ask(stage, [90_000]))[0]).toMatchObject({ accepted: true })
  })

  it('counts what the rule says for a job that names nothing: no estimate is no free pass', async () => {
    const stage = new Stage('20, 100/s, 100 tokens/minute 40 each')
    stage.shaper.work(() => 0)
    await stage.fill('a', 3)
    await stage.pass(MINUTE - 2)
    expect(stage.starts.map(([id]) => id)).toEqual(['a1', 'a2'])
    await stage.pass(MINUTE)
    expect(stage.starts.length).toBe(3)
  })

  it('counts each unit in its own windows: tokens do not take room from requests', async () => {
    const stage = new Stage('50, 10/s, 10/minute, 1000 tokens/second 1 each')
    stage.shaper.work(() => 0)
    await ask(stage, Array(11).fill(1_000))
    await stage.pass(50 * SECOND)
    // A call a second by tokens, ten a minute by calls.
    expect(stage.starts.length).toBe(10)
    await stage.pass(20 * SECOND)
    expect(stage.starts.length).toBe(11)
  })

  it('is asked for the head of the line, which smaller jobs do not overtake', async () => {
    const stage = new Stage('20, 10/s, 100 tokens/minute 1 each')
    stage.shaper.work(() => 0)
    await ask(stage, [60, 60, 1])
    await stage.pass(2 * MINUTE)
    expect(stage.starts.map(([id]) => id)).toEqual(['1', '2', '3'])
    expect(stage.starts[1]![1]).toBeGreaterThan(MINUTE)
  })

  it('says when a job departs, and it does', async () => {
    const stage = new Stage('20, 10/s, 100 tokens/minute 1 each')
    stage.shaper.work(() => 0)
    const promised = await ask(stage, [60, 60, 30, 90])
    await stage.pass(5 * MINUTE)
    expect(stage.starts.map(([, ms]) => ms)).toEqual(
      promised.map((answer) => answer.accepted && answer.departsAt),
    )
    // Jobs ahead may be settled for less, where one of their unit waits for them.
    expect(promised.map((answer) => 'isEstimate' in answer)).toEqual([false, true, true, true])
  })

  it('is paid again by a retry', async () => {
    const stage = new Stage('20, 10/s, 100 tokens/minute 1 each', {
      jobDefaults: { attempts: 2, backoff: 1_000 },
    })
    stage.shaper.work(() => Promise.reject(new Error('no')))
    await ask(stage, [60])
    await stage.pass(3 * MINUTE)
    expect(stage.starts.length).toBe(2)
    expect(stage.starts[1]![1] - stage.starts[0]![1]).toBeGreaterThan(MINUTE)
  })

  it('remembers what was used after its line is empty, and then forgets the bucket', async () => {
    const stage = new Stage('20, 10/s, 100 tokens/minute 1 each')
    stage.shaper.work(() => 0)
    const before = stage.shaper.heap.sum()
    await ask(stage, [100])
    await stage.pass(30 * SECOND)
    expect(await stage.shaper.inspect('a')).toBeDefined()
    await stage.pass(35 * SECOND)
    expect(await stage.shaper.inspect('a')).toBeUndefined()
    expect(before.bytes).toBe(0)
  })

  it('goes on counting under a changed limit', async () => {
    const stage = new Stage('20, 10/s, 100 tokens/minute 1 each')
    stage.shaper.work(() => 0)
    await ask(stage, [100])
    await stage.pass(SECOND)
    await stage.shaper.limits.set('*', '20, 10/s, 120 tokens/minute 1 each')
    await stage.shaper.enqueue('a', 0, { id: 'small', costs: { tokens: 20 } })
    await stage.shaper.enqueue('a', 0, { id: 'large', costs: { tokens: 21 } })
    await stage.pass(SECOND)
    expect(stage.starts.map(([id]) => id)).toEqual(['1', 'small'])
    await stage.shaper.limits.set('*', '20, 10/s')
    await stage.pass(SECOND)
    expect(stage.starts.map(([id]) => id)).toEqual(['1', 'small', 'large'])
  })
})

describe('settling', () => {
  it('frees at once what was not used, once for each attempt', async () => {
    const stage = new Stage('20, 10/s, 100 tokens/minute 1 each')
    const answers: boolean[] = []
    stage.shaper.work(async (job) => {
      await stage.sleep(SECOND)
      answers.push(await job.settle({ tokens: 10 }), await job.settle({ tokens: 0 }))
      setImmediate(async () => answers.push(await job.settle({ tokens: 0 })))
    })
    await ask(stage, [100, 90, 1])
    await stage.pass(5 * SECOND)
    expect(stage.starts).toEqual([
      ['1', 0],
      ['2', SECOND],
      ['3', 2 * SECOND],
    ])
    await stage.pass(0)
    expect(answers).toEqual([true, false, false, true, false, false, true, false, false])
  })

  it('makes later jobs wait longer after a start that used more', async () => {
    const stage = new Stage('20, 10/s, 100 tokens/minute 1 each')
    stage.shaper.work((job) => job.settle({ tokens: 500 }))
    await ask(stage, [10, 10])
    await stage.pass(MINUTE)
    expect(stage.starts.length).toBe(1)
    await stage.pass(5 * SECOND)
    expect(stage.starts.length).toBe(2)
  })

  it('refuses a unit that the limit does not count, and says which there are', async () => {
    const stage = new Stage({ '*': LLM, plain: '5, 1/s' })
    const errors: unknown[] = []
    stage.shaper.work((job) => job.settle({ token: 1 }).catch((error: unknown) => void errors.push(error)))
    await stage.shaper.enqueue('a', 0)
    await stage.shaper.enqueue('plain', 0)
    await stage.pass(SECOND)
    expect(errors).toEqual([expect.any(UnknownUnitError), expect.any(UnknownUnitError)])
    expect(errors).toMatchObject([{ units: ['tokens'] }, { units: [] }])
  })
})

describe('a settlement', () => {
  /** Starts a job under the first limit, changes to the second, and settles. */
  async function settledUnder(first: string, second: string, ...amounts: Record<string, number>[]) {
    const stage = new Stage(first)
    const answers: unknown[] = []
    const codeOf = ({ code }: { code: unknown }) => code
    stage.shaper.work(async (job) => {
      await stage.shaper.limits.set('*', second)
      for (const units of amounts) answers.push(await job.settle(units).catch(codeOf))
      setImmediate(async () => answers.push(await job.settle({ points: 1 }).catch(codeOf)))
    })
    await stage.shaper.enqueue('a', 0)
    await stage.pass(SECOND)
    await new Promise((resolve) => setImmediate(resolve))
    await stage.pass(0)
    await stage.conforms()
    return answers
  }
  const TOKENS = '20, 10/s, 100 tokens/minute 1 each'

  it('after the end is false, whatever it names', async () => {
    expect(await settledUnder(TOKENS, TOKENS, { tokens: 3 }, { points: 3 })).toEqual([true, false, false])
  })

  it('of an unknown unit takes nothing away from the next', async () => {
    expect(await settledUnder(TOKENS, TOKENS, { points: 3 }, { tokens: 3 })).toEqual([
      'unknown-unit',
      true,
      false,
    ])
  })

  it('counts also where the quota came while the job ran, and is refused where it went', async () => {
    expect(await settledUnder('20, 10/s, 2 at once', TOKENS, { tokens: 3 }, { tokens: 4 })).toEqual([
      true,
      false,
      false,
    ])
    expect(await settledUnder(TOKENS, '20, 10/s', { tokens: 3 })).toEqual(['unknown-unit', false])
  })

  it('is recorded with its fence and its amounts', async () => {
    const stage = new Stage(TOKENS)
    const events: unknown[] = []
    stage.shaper.on('settled', ({ id, fence, amounts }) => void events.push([id, fence, amounts]))
    stage.shaper.on('departed', ({ costs, fence }) => void events.push([costs, fence]))
    stage.shaper.work((job) => job.settle({ tokens: 9 }))
    await ask(stage, [7])
    await stage.pass(SECOND)
    expect(events).toEqual([
      [{ tokens: 7 }, 1],
      ['1', 1, { tokens: 9 }],
    ])
  })
})

describe('places', () => {
  it('bound how many run at once, and a freed one is taken at once', async () => {
    const stage = new Stage('20, 10/s, 2 at once')
    let running = 0
    let most = 0
    stage.shaper.work(async () => {
      most = Math.max(most, ++running)
      await stage.sleep(SECOND)
      running--
    })
    await stage.fill('a', 4)
    await stage.pass(5 * SECOND)
    expect(most).toBe(2)
    expect(stage.starts.map(([, ms]) => ms)).toEqual([0, 100, 1_000, 1_100])
    await stage.conforms()
  })

  it('are not held while a job waits for the rate', async () => {
    const stage = new Stage('20, 1/s, 1 at once')
    stage.shaper.work(() => stage.sleep(100))
    await stage.fill('a', 2)
    await stage.pass(500)
    expect(await stage.shaper.inspect('a')).toMatchObject({ running: 0, jobs: 1 })
    await stage.pass(SECOND)
    expect(stage.starts.length).toBe(2)
  })

  it('come back from attempts that fail, freeze or time out', async () => {
    const stage = new Stage('20, 10/s, 1 at once', { jobDefaults: { timeoutMs: 200 } })
    stage.shaper.work((job) => {
      if (job.id === 'a1') throw new Error('no')
      if (job.id === 'a2') return new Promise(() => undefined)
      return 0
    })
    await stage.fill('a', 3)
    await stage.pass(SECOND)
    expect(stage.starts.map(([id]) => id)).toEqual(['a1', 'a2', 'a3'])
  })

  it('beyond a lowered number are not revoked', async () => {
    const stage = new Stage('20, 10/s, 3 at once')
    stage.shaper.work(() => stage.sleep(SECOND))
    await stage.fill('a', 6)
    await stage.pass(300)
    await stage.shaper.limits.set('*', '20, 10/s, 1 at once')
    await stage.pass(10 * SECOND)
    expect(stage.starts.map(([, ms]) => ms)).toEqual([0, 100, 200, 1_200, 2_200, 3_200])
  })

  it('are held by a turn until it is released', async () => {
    const stage = new Stage('20, 10/s, 1 at once')
    const first = await turnOf(stage)
    let second: number | undefined
    const next = stage.shaper.acquire('a').then(async (turn) => {
      second = stage.now
      await turn.release()
    })
    await stage.pass(5 * SECOND)
    expect(second).toBeUndefined()
    const released: unknown[] = []
    stage.shaper.on('released', ({ key, at }) => void released.push([key, at]))
    await first.release()
    await first.release()
    expect(released).toEqual([['a', 5 * SECOND]])
    await stage.pass(1)
    await next
    expect(second).toBe(5 * SECOND)
    await stage.pass(SECOND)
    expect(await stage.shaper.inspect('a')).toBeUndefined()
  })

  it('are lost by a turn that is not released in time, and that is an event', async () => {
    const stage = new Stage('20, 10/s, 1 at once')
    const expired: unknown[] = []
    stage.shaper.on('holdExpired', ({ key, at }) => void expired.push([key, at]))
    const turn = await turnOf(stage, { holdMs: 3 * SECOND })
    let second: number | undefined
    void stage.shaper.acquire('a', { holdMs: SECOND }).then(() => {
      second = stage.now
    })
    await stage.pass(3 * SECOND + 1)
    expect(second).toBe(3 * SECOND)
    expect(expired).toEqual([['a', 3 * SECOND]])
    await turn.release()
    expect(await stage.shaper.inspect('a')).toBeDefined()
  })

  it('are given back by `await using`, and by what `wrap` calls', async () => {
    const stage = new Stage('20, 10/s, 1 at once')
    const wrapped = stage.shaper.wrap(() => stage.sleep(SECOND), { key: 'a' })
    const calls = [wrapped(), wrapped()]
    await stage.pass(3 * SECOND)
    await Promise.all(calls)
    expect(stage.starts.map(([, ms]) => ms)).toEqual([0, SECOND])
    const turn = await turnOf(stage)
    await turn[Symbol.asyncDispose]()
    await stage.pass(SECOND)
    expect(await stage.shaper.inspect('a')).toBeUndefined()
  })

  it('are given back by a shaped fetch when its response begins', async () => {
    const stage = new Stage('20, 10/s, 1 at once')
    const send = async (_: string) => {
      await stage.sleep(SECOND)
      return new Response('yes')
    }
    const fetch = shapedFetch(stage.shaper, { key: 'a', fetch: send })
    const calls = [fetch('http://a.example/'), fetch('http://a.example/')]
    await stage.pass(3 * SECOND)
    await Promise.all(calls)
    expect(stage.starts.map(([, ms]) => ms)).toEqual([0, SECOND])
  })

  it('make times estimates', async () => {
    const stage = new Stage('20, 10/s, 1 at once')
    expect(await stage.shaper.forecast('a')).toMatchObject({ isEstimate: true })
    expect((await stage.fill('a', 1))[0]).toMatchObject({ isEstimate: true })
    expect((await new Stage('1, 10/s, 1 at once').fill('a', 3))[2]).toMatchObject({
      accepted: false,
      isEstimate: true,
    })
  })
})

describe('a turn', () => {
  it('is settled until it is released', async () => {
    const stage = new Stage('20, 10/s, 100 tokens/minute 1 each')
    const first = await turnOf(stage, { costs: { tokens: 100 } })
    expect(await first.settle({ tokens: 50 })).toBe(true)
    expect(await first.settle({ tokens: 0 })).toBe(false)
    const second = stage.shaper.acquire('a', { costs: { tokens: 50 } })
    await stage.pass(SECOND)
    const turn = await second
    await turn.release()
    expect(await turn.settle({ tokens: 0 })).toBe(false)
  })

  it('without further parts of a limit is released without harm', async () => {
    const stage = new Stage('20, 10/s')
    const turn = await turnOf(stage)
    await turn.release()
    await expect(turn.settle({ tokens: 1 })).rejects.toThrow(UnknownUnitError)
  })
})
