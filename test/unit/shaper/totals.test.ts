import { describe, expect, test } from 'vitest'
import { type Shaper as AnyShaper, NoLimitError, Shaper } from '../../../src/index.ts'
import { checkHistory, recordHistory, VirtualClock } from '../../../src/testing.ts'

const MS = 1_000
const SECOND = 1_000 * MS

function lineOf(limits: Readonly<Record<string, string>>) {
  const clock = new VirtualClock()
  const shaper = new Shaper<string>('family', { limits, clock })
  const starts: string[] = []
  return { clock, shaper, starts, work: workerOf(shaper, clock, starts) }
}

function workerOf(shaper: AnyShaper<string>, clock: VirtualClock, starts: string[]) {
  return (takesMs = 0, concurrency = 100) =>
    shaper.work(
      async ({ key }) => {
        starts.push(`${key} ${clock.now() / SECOND}`)
        if (takesMs > 0) await clock.sleep(takesMs * MS)
      },
      { concurrency },
    )
}

async function fill(shaper: AnyShaper<string>, key: string, jobs: number) {
  const answers = await shaper.enqueueMany(Array.from({ length: jobs }, () => ({ key, data: key })))
  return answers
}

describe('a family', () => {
  test('departs at the pace of its total, and each key gets its share', async () => {
    const { clock, shaper, starts, work } = lineOf({
      'a/*': '100, 10/s',
      'a/2': '100, 10/s, weight 2',
      'a/': '200, 3/s',
    })
    const recording = recordHistory(shaper, clock)
    work()
    await fill(shaper, 'a/1', 50)
    await fill(shaper, 'a/2', 50)
    await clock.advance(10 * SECOND)
    expect(starts.length).toBe(31)
    expect(starts.filter((start) => start.startsWith('a/2')).length).toBeGreaterThanOrEqual(20)
    await clock.advance(60 * SECOND)
    expect(starts.length).toBe(100)
    expect(checkHistory(recording.history)).toEqual([])
  })

  test('a history says when a total was unset, and keeps the laws that hold then', async () => {
    const { clock, shaper, starts, work } = lineOf({ 'a/*': '10000, 100/s', 'a/': '20000, 10/s' })
    const recording = recordHistory(shaper, clock)
    work()
    await fill(shaper, 'a/1', 30)
    await fill(shaper, 'a/2', 30)
    await clock.advance(1 * SECOND)
    await shaper.limits.unset('a/')
    await clock.advance(2 * SECOND)
    expect(starts).toHaveLength(60)
    const told = recording.history.filter(({ type }) => type === 'unset')
    expect(told).toEqual([{ type: 'unset', at: 1 * SECOND, key: 'a/' }])
    expect(checkHistory(recording.history)).toEqual([])
    await shaper.limits.set('a/', '20000, 10/s')
    await fill(shaper, 'a/1', 5)
    await clock.advance(1 * SECOND)
    expect(
      recording.history.filter(
        ({ type, ...event }) => type === 'limit' && 'key' in event && event.key === 'a/',
      ),
    ).toHaveLength(2)
    expect(checkHistory(recording.history)).toEqual([])
  })

  test('a flood does not make the others wait', async () => {
    const { clock, shaper, starts, work } = lineOf({ 'a/*': '10000, 100/s', 'a/': '20000, 10/s' })
    work()
    await fill(shaper, 'a/flood', 5_000)
    await clock.advance(3 * SECOND)
    starts.length = 0
    await fill(shaper, 'a/calm', 5)
    await clock.advance(1 * SECOND)
    expect(starts.filter((start) => start.startsWith('a/calm'))).toHaveLength(5)
  })

  test('of a thousand children one floods, and the others wait as they would without it, to one round', async () => {
    const [alone, beside] = [await play(0), await play(10_000)]
    expect(alone.waits).toHaveLength(1_000)
    // A round: a departure of each child that has work, which are the flood and hardly ever two others.
    const rounds = beside.waits.map((wait, nth) => (wait - alone.waits[nth]!) / (10 * MS))
    expect(Math.max(...rounds)).toBeLessThanOrEqual(3)
    expect(beside.starts).toBeGreaterThanOrEqual(0.99 * 2_000)
  })

  /** Waits of a thousand jobs of 999 children in 20 s, and all starts, beside a child with so many jobs. */
  async function play(flood: number) {
    const { clock, shaper } = lineOf({ 'a/*': '20000, 100/s', 'a/': '40000, 100/s' })
    const recording = recordHistory(shaper, clock)
    const waits: number[] = []
    let starts = 0
    shaper.work(({ data }) => {
      starts++
      const [, nth, at] = data.split(' ')
      if (at !== undefined) waits[Number(nth)] = clock.now() - Number(at)
    })
    await fill(shaper, 'a/flood', flood)
    for (let nth = 0; nth < 1_000; nth++) {
      const at = clock.now()
      await shaper.enqueue(`a/${nth % 999}`, `other ${nth} ${at}`)
      // Unevenly, so that some come together.
      await clock.advance((nth % 3) * 20 * MS)
    }
    const during = starts
    if (flood === 0) await clock.advance(SECOND)
    expect(checkHistory(recording.history, { unfinished: flood > 0 })).toEqual([])
    return { waits, starts: during }
  }

  test('the key before the slash belongs to it, and others do not', async () => {
    const { shaper } = lineOf({ '*': '10, 1/s', 'a/': '20, 1/s', 'a/b/': '5, 1/s' })
    const paths = (key: string) => shaper.limits.totals(key).map(({ path }) => path)
    expect(paths('a')).toEqual(['a/'])
    expect(paths('a/b')).toEqual(['a/', 'a/b/'])
    expect(paths('a/b/c')).toEqual(['a/', 'a/b/'])
    expect(paths('ab')).toEqual([])
  })

  test('a key cannot have the name of a family', async () => {
    const { shaper } = lineOf({ '*': '10, 1/s', 'a/': '20, 1/s' })
    await expect(shaper.enqueue('a/', '')).rejects.toThrow(
      'expected the key of a single bucket, not of a family, whose name ends in /, got: "a/"',
    )
    await expect(shaper.acquire('a/')).rejects.toThrow('not of a family')
    await expect(shaper.forecast('a/')).rejects.toThrow('not of a family')
  })
})

describe('a total refuses', () => {
  test('what it has no room for, and accepts it when it said', async () => {
    const { clock, shaper, work } = lineOf({ 'a/*': '100, 10/s', 'a/': '10, 2/s' })
    work()
    await fill(shaper, 'a/1', 5)
    await clock.advance(100 * MS)
    const answers = await fill(shaper, 'a/1', 5)
    const refused = answers.at(-1)!
    expect(answers.filter(({ accepted }) => accepted)).toHaveLength(4)
    expect(refused).toMatchObject({ accepted: false, reason: 'full', at: 'a/', waiting: 8, capacity: 10 })
    expect(refused).toMatchObject({ retryAfterMs: 400 })
    expect(refused).not.toHaveProperty('isEstimate')
    const { retryAfterMs } = refused as { retryAfterMs: number }
    await clock.advance((retryAfterMs - 1) * MS)
    expect(await shaper.forecast('a/1')).toMatchObject({ accepted: false })
    await clock.advance(1 * MS)
    expect(await shaper.enqueue('a/1', '')).toMatchObject({ accepted: true })
  })

  test('a flood before it takes all room, so that others get in', async () => {
    const { shaper } = lineOf({ 'a/*': '100, 10/s', 'a/': '20, 2/s' })
    const flood = await fill(shaper, 'a/1', 30)
    expect(flood.filter(({ accepted }) => accepted)).toHaveLength(16)
    const calm = await fill(shaper, 'a/2', 3)
    expect(calm.every(({ accepted }) => accepted)).toBe(true)
    expect((await fill(shaper, 'a/1', 1))[0]).toMatchObject({ reason: 'full', at: 'a/', isEstimate: true })
  })

  test('a job that costs more than it holds, or than a quota of it', async () => {
    const { shaper } = lineOf({ 'a/*': '100, 10/s', 'a/': '10, 2/s, 50 tokens/minute 5 each' })
    expect(await shaper.enqueue('a/1', '', { cost: 11 })).toMatchObject({ reason: 'too-costly', at: 'a/' })
    expect(await shaper.enqueue('a/1', '', { costs: { tokens: 51 } })).toMatchObject({
      reason: 'too-costly',
      at: 'a/',
      quota: '50 tokens/minute',
    })
    expect(await shaper.enqueue('a/1', '', { cost: 101 })).not.toHaveProperty('at')
  })

  test('a deadline that its pace cannot keep, and none that it may', async () => {
    const { shaper } = lineOf({ 'a/*': '100, 10/s', 'a/': '100, 1/s' })
    await fill(shaper, 'a/1', 5)
    expect(await shaper.enqueue('a/1', '', { deadlineMs: 3_000 })).toMatchObject({
      reason: 'deadline',
      at: 'a/',
    })
    expect(await shaper.enqueue('a/2', '', { deadlineMs: 3_000 })).toMatchObject({
      accepted: true,
      isEstimate: true,
    })
  })

  test('a deadline while it is paused', async () => {
    const { shaper } = lineOf({ 'a/*': '100, 10/s', 'a/': '5, 1/s' })
    await shaper.pause('a/')
    expect(await shaper.enqueue('a/1', '', { deadlineMs: 60_000 })).toMatchObject({
      reason: 'paused',
      at: 'a/',
    })
    await fill(shaper, 'a/1', 4)
    expect((await fill(shaper, 'a/1', 1))[0]).toMatchObject({ reason: 'paused', at: 'a/' })
  })

  test('and what the limit of the key refuses is an estimate below it', async () => {
    const { shaper } = lineOf({ 'a/*': '2, 10/s', 'a/': '100, 1/s' })
    expect((await fill(shaper, 'a/1', 4)).at(-1)).toMatchObject({
      reason: 'full',
      capacity: 2,
      isEstimate: true,
    })
  })
})

test('times below a total are exact for a line that is alone, and shares otherwise', async () => {
  const { clock, shaper, starts, work } = lineOf({
    'a/*': '100, 10/s',
    'a/': '100, 2/s',
    '*/': '1000, 1000/s',
  })
  work()
  const [, , third] = await fill(shaper, 'a/1', 3)
  expect(third).toMatchObject({ departsAt: 1_000 })
  expect(third).not.toHaveProperty('isEstimate')
  const [other] = await fill(shaper, 'a/2', 1)
  expect(other).toMatchObject({ isEstimate: true })
  await clock.advance(5 * SECOND)
  expect(starts).toHaveLength(4)
})

describe('a family is', () => {
  test('frozen, and goes on at its pace', async () => {
    const { clock, shaper, starts, work } = lineOf({ 'a/*': '100, 10/s', 'a/': '100, 2/s' })
    work()
    await shaper.freeze('a/', 5_000)
    await fill(shaper, 'a/1', 2)
    await clock.advance(4 * SECOND)
    expect(starts).toEqual([])
    expect(await shaper.unfreeze('a/')).toBe(true)
    expect(await shaper.unfreeze('a/')).toBe(false)
    await clock.advance(1 * SECOND)
    expect(starts).toEqual(['a/1 4', 'a/1 4.5'])
  })

  test('paused until it is resumed', async () => {
    const { clock, shaper, starts, work } = lineOf({ 'a/*': '100, 10/s', 'a/': '100, 2/s' })
    work()
    await fill(shaper, 'a/1', 2)
    await clock.advance(0)
    await shaper.pause('a/')
    await clock.advance(60 * SECOND)
    expect(starts).toEqual(['a/1 0'])
    await shaper.resume('a/')
    await clock.advance(1 * SECOND)
    expect(starts).toEqual(['a/1 0', 'a/1 60'])
  })

  test('unknown without a total, and nothing is to be resumed of it', async () => {
    const { shaper } = lineOf({ '*': '100, 10/s', 'a/': '100, 2/s' })
    await expect(shaper.freeze('b/', 10)).rejects.toThrow(NoLimitError)
    await expect(shaper.freeze('b/', 10)).rejects.toThrow(
      'no total limits the family "b/": add one with this pattern, or one with * in place of a segment',
    )
    await expect(shaper.pause('b/')).rejects.toThrow(NoLimitError)
    await expect(shaper.resume('b/')).resolves.toBeUndefined()
    expect(await shaper.unfreeze('a/')).toBe(false)
  })
})

test('what a call really took is settled in the quota of a total', async () => {
  const { clock, shaper } = lineOf({ 'a/*': '100, 10/s', 'a/': '100, 10/s, 100 tokens/minute 50 each' })
  const starts: number[] = []
  shaper.work(async (job) => {
    starts.push(clock.now() / SECOND)
    expect(await job.settle({ tokens: 10 })).toBe(true)
    expect(await job.settle({ tokens: 20 })).toBe(false)
    await expect(job.settle({ words: 1 })).resolves.toBe(false)
  })
  await fill(shaper, 'a/1', 3)
  await fill(shaper, 'a/2', 3)
  await clock.advance(2 * SECOND)
  expect(starts).toHaveLength(6)
})

test('a turn holds a place of a total, and gives it back', async () => {
  const { clock, shaper } = lineOf({ 'a/*': '100, 10/s', 'a/': '100, 10/s, 1 at once' })
  const first = shaper.acquire('a/1')
  await clock.advance(0)
  const turn = await first
  let isSecond = false
  void shaper.acquire('a/2').then(() => {
    isSecond = true
  })
  await clock.advance(5 * SECOND)
  expect(isSecond).toBe(false)
  expect(await turn.release()).toBe(true)
  await clock.advance(1 * SECOND)
  expect(isSecond).toBe(true)
})

test('turns of a family pass by its jobs while no handler is free, and jobs go on when one is', async () => {
  const { clock, shaper, starts, work } = lineOf({ 'a/*': '1000, 100/s', 'a/': '1000, 10/s' })
  work(5_000, 1)
  await fill(shaper, 'a/1', 3)
  await fill(shaper, 'a/2', 3)
  await clock.advance(200 * MS)
  let turns = 0
  for (let count = 0; count < 20; count++) void shaper.acquire('a/3').then(() => void turns++)
  await clock.advance(4 * SECOND)
  expect({ turns, jobs: starts.length }).toEqual({ turns: 20, jobs: 1 })
  await clock.advance(30 * SECOND)
  expect(starts).toHaveLength(6)
})

test('what is cancelled or expires below a total leaves its line', async () => {
  const { clock, shaper } = lineOf({ 'a/*': '100, 10/s', 'a/': '5, 1/s' })
  await shaper.enqueue('a/1', '', { id: 'first' })
  await fill(shaper, 'a/1', 2)
  const verdicts = async (jobs: number) => (await fill(shaper, 'a/1', jobs)).map(({ accepted }) => accepted)
  expect(await shaper.enqueue('a/1', '', { deadlineMs: 10_000 })).toMatchObject({ accepted: true })
  expect(await verdicts(1)).toEqual([false])
  expect(await shaper.cancel('first')).toBe(true)
  expect(await verdicts(2)).toEqual([true, false])
  await clock.advance(11 * SECOND)
  expect(await verdicts(2)).toEqual([true, false])
})

test('with a retry below it, times are estimates, and a deadline that may be met is not refused', async () => {
  const { clock, shaper } = lineOf({ 'a/*': '100, 10/s', 'a/': '100, 1/s' })
  shaper.work(
    ({ attempt }) => {
      if (attempt === 1) throw new Error('not now')
    },
    { concurrency: 1 },
  )
  await shaper.enqueue('a/1', '', { attempts: 2, backoff: 60_000 })
  await clock.advance(1)
  await fill(shaper, 'a/1', 3)
  // Behind three jobs the fourth departs after three seconds, unless one of them is the retry, which goes later.
  expect(await shaper.enqueue('a/1', '', { deadlineMs: 2_500 })).toMatchObject({
    accepted: true,
    isEstimate: true,
  })
})

test('a total that is set while jobs wait counts those of the key before its slash, too', async () => {
  const { shaper } = lineOf({ '*': '100, 10/s' })
  await fill(shaper, 'a', 3)
  await fill(shaper, 'ab', 3)
  await shaper.limits.set('a/', '5, 1/s')
  expect((await fill(shaper, 'a/1', 3)).map(({ accepted }) => accepted)).toEqual([true, true, false])
  expect(await fill(shaper, 'a/1', 1)).toMatchObject([{ at: 'a/', waiting: 5, capacity: 5 }])
  await shaper.limits.reset('a/')
  expect(await fill(shaper, 'a', 1)).toMatchObject([{ accepted: true }])
})

describe('a total', () => {
  test('is inspected by its path', async () => {
    const { clock, shaper, work } = lineOf({ 'a/*': '100, 10/s', 'a/': '200, 3/s', 'a/b/': '9, 1/s' })
    expect(await shaper.inspect('a/')).toBeUndefined()
    await fill(shaper, 'a/b/c', 3)
    expect(await shaper.inspect('a/b/')).toMatchObject({ path: 'a/b/', total: 'a/', waiting: 3, children: 1 })
    work()
    await clock.advance(500 * MS)
    const family = await shaper.inspect('a/')
    expect(family).toMatchObject({ waiting: 2, children: 1, nextDepartureAt: 1_000 })
    await expect(shaper.inspect('a//..')).rejects.toThrow('no segment')
  })

  test('that is paused lets no bucket below it say when it departs', async () => {
    const { shaper } = lineOf({ 'a/*': '100, 10/s', 'a/': '200, 3/s' })
    await fill(shaper, 'a/b', 2)
    expect(await shaper.inspect('a/b')).toMatchObject({ total: 'a/', nextDepartureAt: 0 })
    await shaper.pause('a/')
    expect(await shaper.inspect('a/b')).not.toHaveProperty('nextDepartureAt')
    expect(await shaper.inspect('a/')).toMatchObject({ state: 'paused', waiting: 2 })
    expect((await shaper.families()).families.map(({ path }) => path)).toEqual(['a/'])
    await expect(shaper.families({ under: '' })).rejects.toThrow('families')
  })
})
