import { describe, expect, test } from 'vitest'
import type { Delivery } from '../../../../src/redis/transport/transport.ts'
import type { FakeStore } from './fake-store.ts'
import { GateStage } from './gate-stage.ts'

const backs = ({ store }: GateStage) =>
  store.finished.filter(([, { outcome }]) => outcome.kind === 'back').map(([id]) => id)

describe('several workers, of which one has handlers left', () => {
  /** Workers whose handlers `slow` has; the first keeps two for another segment, which it knows. */
  async function stuckStage(workers: number): Promise<GateStage> {
    const stage = await new GateStage().open(workers, 4)
    stage.take(stage.store.hand('quick'))
    await stage.pass(20)
    stage.runs = 60_000_000
    for (let worker = 0; worker < workers; worker++) {
      for (let n = 0; n < 4; n++) stage.take(stage.store.hand(`slow/${worker}/${n}`), worker)
    }
    // Longer than handlers count as moving, and a second in which what is too much of it goes back.
    await stage.pass(1_600)
    expect(stage.starts).toHaveLength(1 + 2 + 4 * (workers - 1))
    stage.store.finished.length = 0
    stage.runs = 0
    return stage
  }

  /** Delivers to the workers in turn what they give back; returns how often the job was given back in so many milliseconds. */
  async function carry(stage: GateStage, job: Delivery, from: number, ms: number): Promise<number> {
    const { finished, jobs, buckets } = stage.store
    let returns = 0
    let { epoch } = job
    stage.take([job], from)
    for (let at = 0; at < ms; at++) {
      await stage.pass(1)
      const seen = finished.splice(0).filter(([id]) => id === job.id)
      const back = seen.find(([, { outcome }]) => outcome.kind === 'back')
      if (back === undefined) continue
      expect(back[1].outcome).toMatchObject({ delay: 0 })
      returns++
      epoch++
      Object.assign(jobs.get(job.id)!, { state: 'handed', epoch })
      buckets.get(job.key)!.handed.push(job.id)
      stage.take([{ ...job, epoch }], (from + returns) % stage.gates.length)
    }
    return returns
  }

  test.each([2, 4])(
    '%i: a job of a segment that has less than its share goes on at once',
    async (workers) => {
      const stage = await stuckStage(workers)
      for (let n = 0; n < 5; n++) {
        const [job] = stage.store.hand(`quick/${n}`)
        expect(await carry(stage, job!, 1, 20)).toBe(workers - 1)
        expect(stage.starts.at(-1)).toMatchObject({ key: `quick/${n}`, worker: 0 })
      }
    },
  )

  test('one for which no worker has a handler is given back ever more seldom', async () => {
    const stage = await stuckStage(3)
    stage.runs = 60_000_000
    for (let n = 0; n < 2; n++) stage.take(stage.store.hand(`quick/${n}`))
    await stage.pass(600)
    const [job] = stage.store.hand('quick/more')
    expect(await carry(stage, job!, 0, 1_000)).toBeLessThanOrEqual(3 * 13)
  })
})

test('a job of a segment that has less than its share waits where handlers end', async () => {
  const stage = await new GateStage().open(1, 2)
  const startSlow = async (n: number, ms: number) => {
    stage.runs = ms * 1_000
    stage.take(stage.store.hand(`slow/${n}`))
    await stage.pass(8)
  }
  await startSlow(0, 60_000)
  await startSlow(1, 400)
  await startSlow(2, 450)
  stage.runs = 0
  stage.take(stage.store.hand('quick'))
  await stage.pass(900)
  expect(stage.ids().at(-1)).toBe('quick1')
  expect(backs(stage)).toEqual([])
})

describe('a handler that is only held for a slot', () => {
  /** A worker with one handler, which has been idle for longer than handlers count as moving; both segments are known. */
  async function idleStage(): Promise<GateStage> {
    const stage = await new GateStage().open(1, 1)
    for (const key of ['a', 'b']) stage.take(stage.store.hand(key))
    await stage.pass(1_000)
    expect(stage.starts).toHaveLength(2)
    stage.store.finished.length = 0
    return stage
  }

  /** The next job of `a` has a slot in 20 ms, and misses it: the process stands still. The next slot is so many milliseconds ahead. */
  async function missSlot(stage: GateStage, nextMs: number, trip: FakeStore['trip']): Promise<void> {
    const { store, clock } = stage
    store.bucket('a').next = clock.now() + 20_000
    stage.take(store.hand('a'))
    await stage.pass(5)
    stage.stall(600)
    store.trip = trip
    // What is due during a standstill comes at its end.
    await stage.pass(16)
    expect(stage.missed).toEqual(['a2'])
    store.bucket('a').next = clock.now() + nextMs * 1_000
  }

  /** A job of `b` comes now, and starts right after the one of `a`. */
  async function expectPatience(stage: GateStage): Promise<void> {
    stage.take(stage.store.hand('b'))
    await stage.pass(200)
    expect(backs(stage)).toEqual([])
    expect(stage.ids().slice(2)).toEqual(['a2', 'b2'])
  }

  test('keeps no job of another segment away while a slot that was missed is asked for again', async () => {
    const stage = await idleStage()
    await missSlot(stage, 20, () => [10_000, 500])
    await expectPatience(stage)
  })

  test('nor while the slot is ahead, after an answer that took long', async () => {
    const stage = await idleStage()
    const { store } = stage
    await missSlot(stage, 590, () => (store.calls.at(-1) === 'gate a2' ? [400_000, 150_000] : [500, 500]))
    await stage.pass(556)
    await expectPatience(stage)
  })
})

test('a worker that rests takes deliveries again as soon as a job has come again and again', async () => {
  const stage = await new GateStage().open(1, 1)
  const [gate] = stage.gates
  const { jobs, buckets } = stage.store
  stage.runs = 60_000_000
  stage.take(stage.store.hand('slow'))
  await stage.pass(600)
  const [job] = stage.store.hand('quick')
  stage.take([job!])
  await stage.pass(2)
  let isRested = false
  void gate!.rested().then(() => {
    isRested = true
  })
  for (let epoch = 2; epoch <= 6; epoch++) {
    expect([backs(stage).length, isRested]).toEqual([epoch - 1, false])
    Object.assign(jobs.get(job!.id)!, { state: 'handed', epoch })
    buckets.get('quick')!.handed.push(job!.id)
    stage.take([{ ...job!, epoch }])
    await stage.pass(30)
  }
  expect([backs(stage).length, isRested]).toEqual([6, true])
})
