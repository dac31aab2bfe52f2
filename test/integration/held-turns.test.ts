import { describe, expect, test } from 'vitest'
import { shapedFetch } from '../../src/fetch.ts'
import { Shaper } from '../../src/index.ts'
import { checkHistory, recordHistory } from '../../src/testing.ts'
import { redisAddress, startRedis, uniquePrefix } from '../support/redis-server.ts'
import { TurnsStage } from './turns-stage.ts'

/** The lease of a turn, and the time that a scheduler may take to notice that it is over; milliseconds. */
const LEASE = 4_500
const NOTICE = 3_000

/** Resolves with the event when it comes. */
function heard(
  shaper: Shaper,
  name: 'released' | 'holdExpired' | 'departed',
): Promise<{ id: string; at: number }> {
  return new Promise((resolve) => {
    const listener = (event: { readonly id: string; readonly at: number }) => {
      shaper.off(name, listener)
      resolve(event)
    }
    shaper.on(name, listener)
  })
}

/** Whether it has settled once the line has answered twice more. */
async function isOpen(shaper: Shaper, turn: Promise<unknown>): Promise<boolean> {
  let isSettled = false
  const settle = () => {
    isSettled = true
  }
  turn.then(settle, settle)
  await new Promise((resolve) => setTimeout(resolve, 500))
  await shaper.inspect('k')
  return !isSettled
}

describe('a place of a limit', () => {
  test('is held by a turn until it is released, and then wakes the next of all processes at once', async () => {
    const stage = new TurnsStage('9, 50/s, 2 at once')
    const [one, two] = [await stage.open(), await stage.open()]
    const first = await (await stage.caller(one, 'first')).turn
    const second = await (await stage.caller(two, 'second')).turn
    const [third, fourth] = [await stage.caller(one, 'third'), await stage.caller(two, 'fourth')]
    expect(await isOpen(one, Promise.race([third.turn, fourth.turn]))).toBe(true)
    expect(await two.inspect('k')).toMatchObject({ places: { taken: 2, of: 2 }, waiting: 2 })
    const released = heard(two, 'released')
    expect(await second.release()).toBe(true)
    const next = await third.turn
    // Ahead of a pass that nothing woke: those are a second apart.
    expect(next.departedAt - (await released).at).toBeLessThan(700)
    expect(await second.release()).toBe(false)
    expect(await isOpen(one, fourth.turn)).toBe(true)
    expect(await next.release()).toBe(true)
    await first.release()
    await (await fourth.turn).release()
    expect(stage.names()).toEqual(['first', 'second', 'third', 'fourth'])
    await stage.conforms()
    expect(stage.errors).toEqual([])
  })

  test('is shared with jobs, and given back by `await using`, `wrap` and a shaped fetch', async () => {
    const stage = new TurnsStage('30, 50/s, 1 at once')
    const [one, two] = [await stage.open(), await stage.open()]
    let inside = 0
    let most = 0
    const work = async () => {
      most = Math.max(most, ++inside)
      await new Promise((resolve) => setTimeout(resolve, 20))
      inside--
    }
    two.work(work)
    const calls: Promise<unknown>[] = []
    const using = async () => {
      await using _ = await one.acquire('k')
      await work()
    }
    const wrapped = two.wrap(work, { key: 'k' })
    const fetch = shapedFetch(one, {
      key: 'k',
      fetch: async (_: string) => work().then(() => new Response('yes')),
    })
    for (let n = 0; n < 4; n++) {
      calls.push(using(), wrapped(), fetch('http://a.example/'))
      await two.enqueue('k', n)
    }
    await Promise.all(calls)
    await expect.poll(async () => (await one.audit()).ended).toBe(16)
    expect(most).toBe(1)
    await stage.conforms()
    expect(stage.errors).toEqual([])
  })

  test('is lost when the turn has held it for `holdMs`, and that is an event', async () => {
    const stage = new TurnsStage('9, 50/s, 1 at once, 1000 tokens/minute 1 each')
    const one = await stage.open()
    const expired = heard(one, 'holdExpired')
    const turn = await one.acquire('k', { holdMs: 1_000 })
    const next = await one.acquire('k')
    expect(next.departedAt).toBeGreaterThanOrEqual((await expired).at)
    expect(next.departedAt - turn.departedAt).toBeGreaterThanOrEqual(990)
    expect(await turn.settle({ tokens: 5 })).toBe(false)
    expect(await turn.release()).toBe(false)
    expect(await next.release()).toBe(true)
    await stage.conforms()
  })

  test('outlives the lease while its process renews it', async () => {
    const stage = new TurnsStage('9, 50/s, 1 at once')
    const [one, two] = [await stage.open(), await stage.open()]
    two.schedule()
    const turn = await one.acquire('k')
    const next = two.acquire('k')
    await new Promise((resolve) => setTimeout(resolve, LEASE + NOTICE))
    expect(await isOpen(two, next)).toBe(true)
    expect(await turn.release()).toBe(true)
    await (await next).release()
    await stage.conforms()
  })

  test('comes and goes with a changed limit: who departed before holds none, and a held one is released all the same', async () => {
    const stage = new TurnsStage('9, 50/s')
    const one = await stage.open()
    const before = await one.acquire('k')
    await one.limits.set('*', '9, 50/s, 1 at once')
    expect(await before.release()).toBe(false)
    const held = await one.acquire('k')
    const waits = one.acquire('k')
    expect(await isOpen(one, waits)).toBe(true)
    await one.limits.set('*', '9, 50/s')
    const free = await waits
    expect(await free.release()).toBe(false)
    await one.limits.set('*', '9, 50/s, 1 at once')
    const last = one.acquire('k')
    expect(await isOpen(one, last)).toBe(true)
    expect(await held.release()).toBe(true)
    expect(await (await last).release()).toBe(true)
  })

  test('is given back by a shaper that closes', async () => {
    const stage = new TurnsStage('9, 50/s, 1 at once')
    const [one, two] = [await stage.open(), await stage.open()]
    const turn = await one.acquire('k')
    const next = two.acquire('k')
    const closing = Date.now()
    await one.close()
    await (await next).release()
    expect(Date.now() - closing).toBeLessThan(LEASE)
    expect(await turn.release()).toBe(false)
    const later = await two.acquire('k')
    let isClosed = false
    const closed = two.close({ drainMs: 60_000 }).then(() => {
      isClosed = true
    })
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(isClosed).toBe(false)
    expect(await later.release()).toBe(true)
    await closed
  })
})

describe('what dies', () => {
  const LIMIT = '9, 50/s, 1 at once, 1000 tokens/minute 1 each'

  test('a process that holds a place loses it when its lease ends, and no later', async () => {
    const stage = new TurnsStage(LIMIT)
    const shaper = await stage.open()
    shaper.schedule()
    const { child } = await stage.holder()
    const next = shaper.acquire('k')
    expect(await isOpen(shaper, next)).toBe(true)
    const lapsed = heard(shaper, 'holdExpired')
    const killedAt = Date.now()
    child.kill('SIGKILL')
    await lapsed
    const turn = await next
    expect(Date.now() - killedAt).toBeLessThan(LEASE + NOTICE)
    expect(await turn.release()).toBe(true)
    expect(await shaper.inspect('k')).toMatchObject({ places: { taken: 0, of: 1 } })
  })

  test('a process that stands still beyond its lease has lost its place: its settlement and release are false', async () => {
    const stage = new TurnsStage(LIMIT)
    const shaper = await stage.open()
    shaper.schedule()
    const { child, said } = await stage.holder()
    const next = shaper.acquire('k')
    // Its start is reported, so the store knows what it lost.
    await expect.poll(() => shaper.inspect('k')).toMatchObject({ running: 1 })
    child.kill('SIGSTOP')
    const turn = await next
    const behind = shaper.acquire('k')
    const answer = said()
    child.stdin.write('go\n')
    child.kill('SIGCONT')
    expect(await answer).toBe('settled false, released false')
    // What it gave back was not its own: the place is still taken.
    expect(await isOpen(shaper, behind)).toBe(true)
    expect(await shaper.inspect('k')).toMatchObject({ places: { taken: 1, of: 1 } })
    expect(await turn.release()).toBe(true)
    expect(await (await behind).release()).toBe(true)
    await stage.conforms(10_000_000)
  })

  test('a Redis with its file knows who holds its places when it is back', async () => {
    await using redis = await startRedis({ port: 'free', appendonly: 'yes', appendfsync: 'always' })
    const stage = new TurnsStage('20, 5/s, 1 at once', redis.url)
    const [one, two] = [await stage.open(), await stage.open()]
    const held = await one.acquire('k')
    const next = two.acquire('k')
    await redis.kill()
    await redis.restart()
    await two.limits.list()
    expect(await isOpen(two, next)).toBe(true)
    expect(await held.release()).toBe(true)
    expect(await (await next).release()).toBe(true)
    await stage.conforms(10_000_000)
  })

  test('a Redis that is away keeps no caller that releases for longer than a lease', async () => {
    await using redis = await startRedis({ port: 'free' })
    const stage = new TurnsStage('20, 5/s, 1 at once', redis.url)
    const one = await stage.open()
    const held = await one.acquire('k')
    await redis.kill()
    const since = Date.now()
    expect(await held.release()).toBe(false)
    expect(Date.now() - since).toBeLessThan(LEASE + NOTICE)
  })
})

describe('settle', () => {
  test.each(['100 tokens/minute 1 each', '1 at once, 100 tokens/minute 1 each'])(
    'of a turn under %s frees what it did not use, once, until it is released',
    async (parts) => {
      const stage = new TurnsStage(`20, 50/s, ${parts}`)
      const [one, two] = [await stage.open(), await stage.open()]
      const first = await one.acquire('k', { costs: { tokens: 100 } })
      await expect(first.settle({ images: 1 })).rejects.toMatchObject({ code: 'unknown-unit' })
      expect(await first.settle({ tokens: 40 })).toBe(true)
      expect(await first.settle({ tokens: 0 })).toBe(false)
      expect((await one.inspect('k'))?.quotas).toMatchObject([{ used: 40 }])
      await first.release()
      const second = await two.acquire('k', { costs: { tokens: 60 }, timeoutMs: 5_000 })
      await second.release()
      expect(await second.settle({ tokens: 0 })).toBe(false)
      expect((await one.inspect('k'))?.quotas).toMatchObject([{ used: 100 }])
      await stage.conforms()
      expect(stage.errors).toEqual([])
    },
  )

  test('of a turn that has used more makes the next wait', async () => {
    const stage = new TurnsStage('20, 50/s, 100 tokens per 2 seconds 10 each')
    const one = await stage.open()
    const first = await one.acquire('k')
    expect(await first.settle({ tokens: 100 })).toBe(true)
    expect((await one.acquire('k')).departedAt - first.departedAt).toBeGreaterThanOrEqual(2_000 - 0.001)
    await stage.conforms()
  })

  test('of a turn counts from what it was charged, also where a turn counts more by then', async () => {
    const stage = new TurnsStage('20, 50/s, 100 tokens/minute 10 each')
    const one = await stage.open()
    const turn = await one.acquire('k')
    await one.limits.set('*', '20, 50/s, 100 tokens/minute 30 each')
    await one.acquire('k')
    expect((await one.inspect('k'))?.quotas).toMatchObject([{ used: 40 }])
    expect(await turn.settle({ tokens: 5 })).toBe(true)
    expect((await one.inspect('k'))?.quotas).toMatchObject([{ used: 35 }])
  })

  test('of a turn works long after its line has forgotten it', async () => {
    const stage = new TurnsStage('20, 50/s, 100 tokens/minute 10 each')
    const one = await stage.open()
    const turn = await one.acquire('k', { costs: { tokens: 90 } })
    await new Promise((resolve) => setTimeout(resolve, 11_500))
    await one.acquire('k')
    await expect.poll(async () => (await one.audit()).ended).toBe(2)
    expect(await turn.settle({ tokens: 5 })).toBe(true)
    expect(await turn.settle({ tokens: 6 })).toBe(false)
    expect((await one.inspect('k'))?.quotas).toMatchObject([{ used: 15 }])
  })
})

test.each(['memory', 'Redis'])('a line in %s tells a turn that may be settled from others', async (line) => {
  const connection = line === 'Redis' ? { connection: redisAddress(), prefix: uniquePrefix() } : {}
  const limits = {
    paced: '9, 50/s',
    counted: '9, 50/s, 100 tokens/minute 10 each',
    held: '9, 50/s, 1 at once',
  }
  await using shaper = new Shaper('turns', { limits, ...connection })
  await shaper.ready()
  const recording = recordHistory(shaper)
  await (await shaper.acquire('paced')).release()
  const counted = await shaper.acquire('counted', { costs: { tokens: 90 } })
  await (await shaper.acquire('held')).release()
  await new Promise((resolve) => setTimeout(resolve, 50))
  // Later than any news of its end.
  expect(await counted.settle({ tokens: 20 })).toBe(true)
  await (await shaper.acquire('counted', { costs: { tokens: 70 } })).release()
  const starts = recording.history.filter((event) => event.type === 'start')
  expect(starts.map(({ key, isHeld }) => [key, isHeld])).toEqual([
    ['paced', undefined],
    ['counted', false],
    ['held', true],
    ['counted', false],
  ])
  const breaches = checkHistory(recording.history, { unfinished: true })
  expect(breaches.filter(({ law }) => law === 'L10')).toEqual([])
})

test.each(['memory', 'Redis'])(
  'a line in %s says and does the same with a turn that holds a place',
  async (line) => {
    const limits = { '*': '9, 50/s, 1 at once, 100 tokens/minute 10 each' }
    const connection = line === 'Redis' ? { connection: redisAddress(), prefix: uniquePrefix() } : {}
    await using shaper = new Shaper('turns', { limits, ...connection })
    await shaper.ready()
    const events: string[] = []
    for (const name of ['departed', 'completed', 'settled', 'released', 'holdExpired'] as const)
      shaper.on(name, (event) => void events.push(`${name}${'isHeld' in event ? ' isHeld' : ''}`))
    const said: unknown[] = []
    const look = async () => {
      const { places, quotas } = (await shaper.inspect('k'))!
      said.push([places, quotas?.map(({ used }) => used)])
    }
    const first = await shaper.acquire('k', { costs: { tokens: 50 } })
    await look()
    said.push((await shaper.tryAcquire('k')).accepted)
    said.push(await first.settle({ tokens: 20 }), await first.settle({ tokens: 30 }))
    await expect(first.settle({ pages: 1 })).resolves.toBe(false)
    said.push(await first.release(), await first.release(), await first.settle({ tokens: 1 }))
    await look()
    events.push('again')
    const second = await shaper.acquire('k', { holdMs: 200 })
    await expect.poll(() => events.at(-1)).toBe('holdExpired')
    said.push(await second.release(), await second.settle({ tokens: 1 }))
    await look()
    const one = { taken: 1, of: 1 }
    const none = { taken: 0, of: 1 }
    expect(said).toEqual([
      [one, [50]],
      false,
      true,
      false,
      true,
      false,
      false,
      [none, [20]],
      false,
      false,
      [none, [30]],
    ])
    const held = ['departed isHeld', 'completed']
    expect(events).toEqual([...held, 'settled', 'released', 'again', ...held, 'holdExpired'])
  },
)
