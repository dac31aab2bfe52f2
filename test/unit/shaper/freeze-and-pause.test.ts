import { describe, expect, test } from 'vitest'
import { FreezeError, InvalidKeyError } from '../../../src/index.ts'
import { Stage } from '../../support/stage.ts'

describe('freeze', () => {
  test('no job departs before its end; then jobs depart at the rate, without making up for it', async () => {
    const stage = new Stage('5, 2/s')
    stage.shaper.work(() => undefined)
    await stage.fill('k', 4)
    await stage.pass(600)
    await stage.shaper.freeze('k', 2_000)
    expect(await stage.shaper.inspect('k')).toMatchObject({
      state: 'frozen',
      frozenUntil: 2_600,
      nextDepartureAt: 2_600,
    })
    await stage.pass(10_000)
    expect(stage.startsOf('k')).toEqual([0, 500, 2_600, 3_100])
    await stage.conforms()
  })

  test('a shorter freeze never shortens a longer one', async () => {
    const stage = new Stage('5, 2/s')
    const until: number[] = []
    stage.shaper.on('frozen', (event) => void until.push(event.until))
    await stage.shaper.freeze('k', 2_000)
    await stage.pass(100)
    await stage.shaper.freeze('k', 50)
    expect(until).toEqual([2_000, 2_000])
    expect(await stage.shaper.enqueue('k', 0)).toMatchObject({ departsAt: 2_000, waitMs: 1_900 })
  })

  test('of an unused key holds new jobs, and is forgotten afterwards', async () => {
    const stage = new Stage('5, 2/s')
    stage.shaper.work(() => undefined)
    await stage.shaper.freeze('k', 1_000)
    expect(await stage.fill('k', 1)).toMatchObject([{ accepted: true, waitMs: 1_000 }])
    await stage.shaper.freeze('unused', 1_000)
    await stage.pass(5_000)
    expect(stage.startsOf('k')).toEqual([1_000])
    expect((await stage.shaper.buckets()).total).toBe(0)
    await stage.conforms()
  })

  test('a full frozen bucket says when there will be room', async () => {
    const stage = new Stage('2, 2/s')
    stage.shaper.work(() => undefined)
    await stage.shaper.freeze('k', 1_000)
    await stage.fill('k', 2)
    expect(await stage.shaper.enqueue('k', 0)).toMatchObject({ reason: 'full', retryAfterMs: 1_000 })
    expect(await stage.shaper.enqueue('k', 0, { cost: 2 })).toMatchObject({ retryAfterMs: 1_500 })
    await stage.pass(1_500)
    expect(await stage.shaper.enqueue('k', 0, { cost: 2 })).toMatchObject({ accepted: true })
  })
})

describe('a freeze that the other side asked for', () => {
  test('by a handler is cut to what its worker allows, and says what was asked for', async () => {
    const stage = new Stage('5, 2/s')
    const frozen: unknown[] = []
    stage.shaper.on('frozen', (event) => void frozen.push(event))
    stage.shaper.work(
      () => {
        if (stage.now === 0) throw new FreezeError({ forMs: 86_400_000 })
      },
      { maxFreezeMs: 2_000 },
    )
    await stage.fill('k', 1)
    await stage.pass(10_000)
    expect(frozen).toEqual([{ key: 'k', at: 0, until: 2_000, askedMs: 86_400_000 }])
    expect(stage.startsOf('k')).toEqual([0, 2_000])
    await stage.conforms()
  })

  test('lasts for an hour at most, unless the worker says otherwise', async () => {
    const stage = new Stage('5, 2/s')
    stage.shaper.work(() => {
      throw new FreezeError({ forMs: 86_400_000 })
    })
    await stage.fill('k', 1)
    await stage.pass(10)
    expect(await stage.shaper.inspect('k')).toMatchObject({ frozenUntil: 3_600_000 })
  })

  test('can be cut by the caller of freeze; otherwise it lasts as long as asked', async () => {
    const stage = new Stage('5, 2/s')
    await stage.shaper.freeze('k', 1e300, { atMostMs: 500 })
    await stage.shaper.freeze('l', 86_400_000)
    expect(await stage.shaper.inspect('k')).toMatchObject({ frozenUntil: 500 })
    expect(await stage.shaper.inspect('l')).toMatchObject({ frozenUntil: 86_400_000 })
    await expect(stage.shaper.freeze('k', Number.NaN, { atMostMs: 500 })).rejects.toThrow(/expected forMs/)
    await expect(stage.shaper.freeze('k', 5, { atMostMs: 0 })).rejects.toThrow(/atMostMs/)
  })
})

describe('unfreeze', () => {
  test('lets departures go on at the rate, without making up for the freeze', async () => {
    const stage = new Stage('5, 2/s')
    stage.shaper.work(() => undefined)
    await stage.fill('k', 4)
    await stage.pass(600)
    await stage.shaper.freeze('k', 3_600_000)
    await stage.pass(100)
    expect(await stage.shaper.unfreeze('k')).toBe(true)
    expect(await stage.shaper.inspect('k')).toMatchObject({ state: 'waiting', nextDepartureAt: 1_000 })
    await stage.pass(10_000)
    expect(stage.startsOf('k')).toEqual([0, 500, 1_000, 1_500])
    await stage.conforms()
  })

  test('of a key that is not frozen returns false, and emits nothing', async () => {
    const stage = new Stage('5, 2/s')
    stage.shaper.on('unfrozen', () => {
      throw new Error('nothing was lifted')
    })
    expect(await stage.shaper.unfreeze('k')).toBe(false)
    await stage.shaper.freeze('k', 1_000)
    await stage.pass(1_000)
    expect(await stage.shaper.unfreeze('k')).toBe(false)
    await expect(stage.shaper.unfreeze('')).rejects.toThrow(InvalidKeyError)
  })
})

describe('pause and resume', () => {
  test('no job departs while it lasts; afterwards at the rate, counted from resume', async () => {
    const stage = new Stage('5, 2/s')
    stage.shaper.work(() => undefined)
    await stage.fill('k', 4)
    await stage.pass(600)
    await stage.shaper.pause('k')
    await stage.shaper.pause('k')
    expect(await stage.shaper.inspect('k')).toMatchObject({ state: 'paused', paused: true })
    expect(await stage.shaper.inspect('k')).not.toHaveProperty('nextDepartureAt')
    await stage.pass(3_333)
    await stage.shaper.resume('k')
    await stage.pass(10_000)
    expect(stage.startsOf('k')).toEqual([0, 500, 3_933, 4_433])
    await stage.conforms()
  })

  test('resuming immediately does not make the next departure earlier', async () => {
    const stage = new Stage('5, 2/s')
    stage.shaper.work(() => undefined)
    await stage.fill('k', 3)
    await stage.pass(100)
    await stage.shaper.pause('k')
    await stage.shaper.resume('k')
    await stage.shaper.resume('k')
    await stage.pass(10_000)
    expect(stage.startsOf('k')).toEqual([0, 500, 1_000])
    await stage.conforms()
  })

  test('the line of a paused bucket fills up; then it says that it is paused', async () => {
    const stage = new Stage('2, 2/s')
    await stage.shaper.pause('k')
    expect(await stage.fill('k', 2)).toMatchObject([{ accepted: true }, { accepted: true }])
    expect(await stage.shaper.enqueue('k', 0)).toMatchObject({
      accepted: false,
      reason: 'paused',
      waiting: 2,
    })
    expect(await stage.shaper.enqueue('k', 0, { cost: 3 })).toMatchObject({ reason: 'too-costly' })
  })

  test('a paused bucket promises no deadline, and lets deadlines pass', async () => {
    const stage = new Stage('5, 2/s')
    await stage.shaper.enqueue('k', 0, { id: 'k1', deadlineMs: 1_000 })
    await stage.shaper.pause('k')
    expect(await stage.shaper.enqueue('k', 0, { deadlineMs: 9_000 })).toMatchObject({ reason: 'paused' })
    expect(await stage.shaper.enqueue('k', 0)).toMatchObject({ accepted: true })
    await stage.pass(2_000)
    expect(await stage.shaper.job('k1')).toMatchObject({ state: 'expired' })
    await stage.conforms({ unfinished: true })
  })

  test('a paused bucket is remembered until it is resumed, also without jobs', async () => {
    const stage = new Stage('5, 2/s')
    await stage.shaper.pause('k')
    await stage.pass(1_000_000)
    expect(await stage.shaper.inspect('k')).toMatchObject({ state: 'paused', jobs: 0 })
    await stage.shaper.resume('k')
    await stage.pass(1)
    expect(await stage.shaper.inspect('k')).toBeUndefined()
  })

  test('a freeze goes on behind a pause', async () => {
    const stage = new Stage('5, 2/s')
    stage.shaper.work(() => undefined)
    await stage.shaper.pause('k')
    await stage.shaper.freeze('k', 1_000)
    await stage.fill('k', 1)
    await stage.shaper.resume('k')
    await stage.pass(5_000)
    expect(stage.startsOf('k')).toEqual([1_000])
  })

  test('resuming a key that is not paused does nothing', async () => {
    const stage = new Stage('5, 2/s')
    await stage.shaper.resume('k')
    expect(await stage.shaper.inspect('k')).toBeUndefined()
  })
})

describe('FreezeError', () => {
  test('holds the bucket, burns no attempt, and its job is the first again', async () => {
    const stage = new Stage('5, 2/s')
    const attempts: [string, number, number][] = []
    stage.shaper.work((job) => {
      attempts.push([job.id, job.attempt, job.fence])
      if (attempts.length === 1) throw new FreezeError({ forMs: 3_000 })
    })
    await stage.fill('k', 3)
    await stage.pass(1)
    expect(await stage.shaper.job('k1')).toMatchObject({ state: 'retrying', attempt: 0, position: 1 })
    expect((await stage.shaper.job('k2'))!.position).toBe(2)
    await stage.pass(10_000)
    expect(attempts).toEqual([
      ['k1', 1, 1],
      ['k1', 1, 2],
      ['k2', 1, 3],
      ['k3', 1, 4],
    ])
    expect(stage.startsOf('k')).toEqual([0, 3_000, 3_500, 4_000])
    expect(stage.emitted[0]).toEqual(['returned', 'k1', 0])
    await stage.conforms()
  })

  test('also of its last attempt, and after attempts that failed', async () => {
    const stage = new Stage('5, 2/s', { jobDefaults: { attempts: 2, backoff: 100 } })
    const attempts: number[] = []
    stage.shaper.work(({ attempt }) => {
      attempts.push(attempt)
      if (attempts.length === 2) throw new FreezeError({ forMs: 1_000 })
      throw new Error('as planned')
    })
    await stage.fill('k', 1)
    await stage.pass(10_000)
    expect(attempts).toEqual([1, 2, 2])
    expect(await stage.shaper.job('k1')).toMatchObject({ state: 'failed', attempt: 2 })
    await stage.conforms()
  })

  test('many together keep their order and go before all jobs that never started', async () => {
    const stage = new Stage('20, 10/s')
    stage.shaper.work(async () => {
      await stage.sleep(450)
      if (stage.now < 1_000) throw new FreezeError({ forMs: 2_000 })
    })
    await stage.fill('k', 8)
    await stage.pass(20_000)
    const ids = stage.starts.map(([id]) => id)
    const before = ids.slice(0, ids.length - 8)
    expect(ids).toEqual([...before, 'k1', 'k2', 'k3', 'k4', 'k5', 'k6', 'k7', 'k8'])
    await stage.conforms()
  })

  test('with a longer freeze in force, too, several keep their order', async () => {
    const stage = new Stage('20, 10/s')
    stage.shaper.work(async () => {
      await stage.sleep(1_000)
      if (stage.now < 2_000) throw new FreezeError({ forMs: 1 })
    })
    await stage.fill('k', 6)
    await stage.pass(550)
    await stage.shaper.freeze('k', 9_000)
    await stage.pass(30_000)
    expect(stage.starts.map(([id]) => id).slice(6)).toEqual(['k1', 'k2', 'k3', 'k4', 'k5', 'k6'])
    await stage.conforms()
  })

  test('one from another copy of the package with invalid numbers fails only its attempt', async () => {
    const stage = new Stage('5, 2/s')
    stage.shaper.work((job) => {
      const nonsense = { name: 'FreezeError', code: 'freeze', forMs: job.data }
      if (job.key === 'k') throw Object.assign(new Error('as planned'), nonsense)
    })
    await stage.shaper.enqueue('k', -1, { id: 'k1' })
    await stage.shaper.enqueue('k', 'soon', { id: 'k2' })
    await stage.shaper.enqueue('k', 0, { id: 'k3' })
    await stage.fill('other', 3)
    await stage.pass(10_000)
    expect(stage.startsOf('other')).toEqual([0, 500, 1_000])
    for (const id of ['k1', 'k2', 'k3']) expect(await stage.shaper.job(id)).toMatchObject({ state: 'failed' })
    await stage.conforms()
  })
})
