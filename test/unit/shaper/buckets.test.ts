import { describe, expect, test } from 'vitest'
import type { BucketPage, BucketQuery, Shaper } from '../../../src/index.ts'
import { SORT_COLUMNS } from '../../../src/line/bucket-query.ts'
import { neverSettles, Stage } from '../../support/stage.ts'

async function keys(shaper: Shaper, query: BucketQuery): Promise<string[]> {
  return (await shaper.buckets(query)).buckets.map(({ key }) => key)
}

/** Reads every page; `between` happens before each but the first. */
async function allKeys(shaper: Shaper, query: BucketQuery, between = async () => {}): Promise<string[]> {
  const found: string[] = []
  let page: BucketPage = await shaper.buckets(query)
  found.push(...page.buckets.map(({ key }) => key))
  while (page.cursor !== undefined) {
    if (found.length > 100) throw new Error(`the pages never end: ${found}`)
    await between()
    page = await shaper.buckets({ ...query, cursor: page.cursor })
    found.push(...page.buckets.map(({ key }) => key))
  }
  return found
}

async function town() {
  const stage = new Stage({ '*': '4, 1/s', 'shop/big': '8, 1/s' })
  await stage.fill('shop', 1)
  await stage.shaper.enqueueMany(Array.from({ length: 8 }, () => ({ key: 'shop/big', data: 0 })))
  await stage.shaper.enqueueMany(Array.from({ length: 2 }, () => ({ key: 'shop/small', data: 0 })))
  await stage.shaper.freeze('ice', 5_000)
  await stage.shaper.pause('pub')
  return stage
}

describe('inspect', () => {
  test('shows a bucket from its first job to the time when its next has passed', async () => {
    const stage = new Stage('4, 1/s')
    stage.shaper.work(() => stage.sleep(100))
    await stage.fill('k', 2)
    await stage.pass(50)
    expect(await stage.shaper.inspect('k')).toEqual({
      key: 'k',
      pattern: '*',
      limit: '4, 1/s',
      state: 'waiting',
      waiting: 1,
      capacity: 4,
      fill: 0.25,
      jobs: 1,
      retrying: 0,
      running: 1,
      nextDepartureAt: 1_000,
      oldestWaitMs: 50,
      waitingSince: 0,
      paused: false,
      lastUsedAt: 0,
      durability: 'memory',
    })
    await stage.pass(1_500)
    expect(await stage.shaper.inspect('k')).toMatchObject({ state: 'idle', jobs: 0, lastUsedAt: 1_000 })
    await stage.pass(449)
    expect(await stage.shaper.inspect('k')).toBeDefined()
    await stage.pass(2)
    expect(await stage.shaper.inspect('k')).toBeUndefined()
  })

  test('a bucket is not forgotten while a handler runs', async () => {
    const stage = new Stage('4, 1/s')
    stage.shaper.work(neverSettles)
    await stage.fill('k', 1)
    await stage.pass(300_000)
    expect(await stage.shaper.inspect('k')).toMatchObject({ state: 'idle', running: 1 })
    await stage.close({ drainMs: 0 })
  })
})

describe('buckets', () => {
  test('filters by prefix, fill and state', async () => {
    const { shaper } = await town()
    expect(await keys(shaper, { prefix: 'shop' })).toEqual(['shop/big', 'shop/small', 'shop'])
    expect(await keys(shaper, { prefix: 'shop/' })).toEqual(['shop/big', 'shop/small'])
    expect(await keys(shaper, { prefix: 'unknown' })).toEqual([])
    expect(await keys(shaper, { minFill: 0.5 })).toEqual(['shop/big', 'shop/small'])
    expect(await keys(shaper, { maxFill: 0.25, sort: 'key' })).toEqual(['ice', 'pub', 'shop'])
    expect(await keys(shaper, { state: 'full' })).toEqual(['shop/big'])
    expect(await keys(shaper, { state: 'frozen' })).toEqual(['ice'])
    expect(await keys(shaper, { state: 'paused' })).toEqual(['pub'])
    expect(await keys(shaper, { state: 'waiting', sort: 'key' })).toEqual(['shop', 'shop/small'])
  })

  test('sorts up and down; equals are in the order of their keys', async () => {
    const { shaper } = await town()
    expect(await keys(shaper, { sort: 'key' })).toEqual(['ice', 'pub', 'shop', 'shop/big', 'shop/small'])
    expect(await keys(shaper, { sort: '-key' })).toEqual(['shop/small', 'shop/big', 'shop', 'pub', 'ice'])
    expect(await keys(shaper, { sort: 'jobs' })).toEqual(['ice', 'pub', 'shop', 'shop/small', 'shop/big'])
    expect(await keys(shaper, { sort: '-waiting' })).toEqual(['shop/big', 'shop/small', 'shop', 'ice', 'pub'])
  })

  test('filters by rule, by family and by the longest wait', async () => {
    const stage = await town()
    const { shaper } = stage
    expect(await keys(shaper, { pattern: 'shop/big' })).toEqual(['shop/big'])
    expect(await keys(shaper, { pattern: '*', sort: 'key' })).toEqual(['ice', 'pub', 'shop', 'shop/small'])
    expect(await keys(shaper, { pattern: 'shop' })).toEqual([])
    expect(await keys(shaper, { under: 'shop', sort: 'key' })).toEqual(['shop', 'shop/big', 'shop/small'])
    expect(await keys(shaper, { under: 'sho' })).toEqual([])
    await stage.pass(500)
    await stage.fill('new', 1)
    await stage.pass(100)
    expect(await keys(shaper, { minOldestWaitMs: 600, sort: 'key' })).toEqual([
      'shop',
      'shop/big',
      'shop/small',
    ])
    expect(await keys(shaper, { minOldestWaitMs: 100, prefix: 'n' })).toEqual(['new'])
    expect(await keys(shaper, { minOldestWaitMs: 601 })).toEqual([])
  })

  test('a walk over many takes its turns with others', async () => {
    const stage = new Stage('4, 1/h')
    const requests = Array.from({ length: 20_000 }, (_, n) => ({ key: `k${n}`, data: 0 }))
    await stage.shaper.enqueueMany(requests)
    let turns = 0
    let isDone = false
    const count = () => {
      turns++
      if (!isDone) setImmediate(count)
    }
    setImmediate(count)
    const page = await stage.shaper.buckets({ sort: '-key', limit: 2 })
    isDone = true
    expect(page).toMatchObject({ total: 20_000, buckets: [{ key: 'k9999' }, { key: 'k9998' }] })
    // One for each slice of two thousand, but for the last.
    expect(turns).toBeGreaterThanOrEqual(9)
  })

  test.each(SORT_COLUMNS.flatMap((field) => [field, `-${field}` as const]))(
    'pages by %s neither repeat nor skip, and say how many there are',
    async (sort) => {
      const { shaper } = await town()
      const whole = await keys(shaper, { sort })
      expect(whole).toHaveLength(5)
      for (const limit of [1, 2, 3, 5, 6]) {
        expect(await allKeys(shaper, { sort, limit })).toEqual(whole)
        expect((await shaper.buckets({ sort, limit })).total).toBe(5)
      }
    },
  )

  test('a full last page has no cursor', async () => {
    const { shaper } = await town()
    expect(await shaper.buckets({ limit: 5 })).not.toHaveProperty('cursor')
  })

  test('a cursor is of the order that it was given for', async () => {
    const { shaper } = await town()
    const { cursor } = await shaper.buckets({ limit: 2, sort: '-fill' })
    for (const sort of ['fill', '-waiting', 'key'] as const) {
      await expect(shaper.buckets({ limit: 2, sort, cursor })).rejects.toThrow(
        'earlier page of the same order',
      )
    }
  })

  test('pages stay in step while buckets come and go', async () => {
    const stage = new Stage('4, 1/s')
    for (const key of 'bdfhjl') await stage.fill(key, 1)
    let turn = 0
    const found = await allKeys(stage.shaper, { sort: 'key', limit: 2 }, async () => {
      turn++
      if (turn === 1) await stage.shaper.cancel('d1')
      await stage.pass(1)
      await stage.fill('a', turn)
      await stage.fill('e', turn)
    })
    expect(found).toEqual([...'bdefhjl'])
  })

  test('pages by fill show each unchanged bucket once, whichever others change', async () => {
    const stage = new Stage('100, 1/h')
    const still = [...'abcdefgh']
    for (const [index, key] of still.entries()) await stage.fill(key, index + 1)
    let restless = 0
    const found = await allKeys(stage.shaper, { limit: 2 }, async () => {
      restless += 17
      await stage.fill('x', restless)
      await stage.fill('y', 60 - restless)
    })
    for (const key of still) expect(found.filter((one) => one === key)).toEqual([key])
  })

  test.each(['oldestWaitMs', '-oldestWaitMs'] as const)(
    'pages by %s show every bucket once, though all have waited longer meanwhile',
    async (sort) => {
      const stage = new Stage('100, 1/h')
      for (const key of 'abcdef') {
        await stage.fill(key, 1)
        await stage.pass(10)
      }
      const found = await allKeys(stage.shaper, { sort, limit: 2 }, () => stage.pass(25))
      expect(found.sort()).toEqual([...'abcdef'])
    },
  )
})

test('a line of 200,000 can be looked at like any other', async () => {
  const stage = new Stage('1000000, 10/s')
  await stage.shaper.enqueueMany(Array.from({ length: 200_000 }, (_, data) => ({ key: 'deep', data })))
  expect(await stage.shaper.inspect('deep')).toMatchObject({ waiting: 200_000, jobs: 200_000 })
  expect((await stage.shaper.buckets()).total).toBe(1)
})

test('retries count like other waiting jobs: the same units in the view, the fill and the answer to a new job', async () => {
  const stage = new Stage('2, 10/s', { jobDefaults: { attempts: 2, backoff: 60_000 } })
  stage.shaper.work(() => {
    throw new Error('as planned')
  })
  await stage.fill('k', 2)
  await stage.pass(150)
  expect(await stage.shaper.inspect('k')).toMatchObject({
    waiting: 2,
    jobs: 0,
    retrying: 2,
    fill: 1,
    state: 'full',
  })
  expect(await stage.shaper.enqueue('k', 0)).toMatchObject({ reason: 'full', waiting: 2, capacity: 2 })
})
