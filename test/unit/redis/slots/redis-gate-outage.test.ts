import { describe, expect, test } from 'vitest'
import { expectEmpty, GateStage } from './gate-stage.ts'

const calls = (stage: GateStage, verb: string) => stage.store.calls.filter((call) => call.startsWith(verb))

describe('with the store away', () => {
  test('nothing starts, one error is emitted, and it goes on when the store is back', async () => {
    const stage = await new GateStage().open()
    stage.store.isDown = true
    stage.take(stage.store.hand('a', 2))
    stage.take(stage.store.hand('b', 1))
    await stage.pass(4_000)
    expect(stage.starts).toEqual([])
    expect(stage.errors.splice(0)).toHaveLength(1)
    stage.store.isDown = false
    await stage.pass(3_000)
    expect(stage.ids().sort()).toEqual(['a1', 'a2', 'b1'])
    expectEmpty(stage)
  })

  test('a job whose lease has ended meanwhile is kept and does not start; dropped where another has it by then', async () => {
    const stage = await new GateStage().open()
    stage.store.isDown = true
    const done = stage.take(stage.store.hand('a', 2))
    await stage.pass(85_000)
    expect([done, stage.starts]).toEqual([[], []])
    stage.store.take('a2')
    stage.store.isDown = false
    await stage.pass(5_000)
    expect(stage.ids()).toEqual(['a1'])
    expect(done.sort()).toEqual(['a1', 'a2'])
    stage.errors.length = 0
    expectEmpty(stage)
  })

  test('one whose slot comes when its lease has ended starts once the store has renewed it, at a new slot', async () => {
    const stage = await new GateStage().open()
    const granted = stage.store.now()
    stage.store.bucket('a').next = granted + 200_000
    stage.take(stage.store.hand('a', 1))
    await stage.pass(50)
    expect(calls(stage, 'gate')).toEqual(['gate a1'])
    stage.store.isDown = true
    // The process stands still until its lease has ended.
    stage.stall(15_000)
    await stage.pass(15_000)
    expect(stage.starts).toEqual([])
    stage.store.isDown = false
    await stage.pass(5_000)
    expect(stage.ids()).toEqual(['a1'])
    expect(stage.starts[0]!.at).toBeGreaterThan(30_000_000)
    stage.errors.length = 0
    expectEmpty(stage)
  })

  test('a gate that is closing drops it when its lease ends', async () => {
    const stage = await new GateStage().open()
    stage.store.isDown = true
    const done = stage.take(stage.store.hand('a', 2))
    await stage.pass(5_000)
    stage.leases[0]!.endPatience()
    await stage.pass(4_900)
    expect(done).toEqual([])
    await stage.pass(200)
    expect(done).toEqual(['a1', 'a2'])
    // A call is still on its way.
    await stage.pass(2_000)
    stage.errors.length = 0
    expectEmpty(stage)
  })

  test('a grant whose reply was lost is granted again, and starts once', async () => {
    const stage = await new GateStage().open()
    stage.store.losesReplies = true
    stage.take(stage.store.hand('a', 1))
    await stage.pass(1_000)
    stage.store.losesReplies = false
    await stage.pass(3_000)
    expect([stage.ids(), stage.store.started.length]).toEqual([['a1'], 1])
    stage.errors.length = 0
    expectEmpty(stage)
  })
})

describe('a job that expired at the gate', () => {
  test('is reported once, though the transport delivers it again', async () => {
    const stage = await new GateStage().open()
    const [expired] = stage.store.hand('a')
    stage.store.expiring.add(expired!.id)
    const done = stage.take([expired!])
    await stage.pass(200)
    const again = stage.take([expired!])
    await stage.pass(200)
    expect([stage.expired, done, again]).toEqual([['a1'], ['a1'], ['a1']])
    expect(calls(stage, 'gate')).toEqual(['gate a1'])
    expectEmpty(stage)
  })

  test('is reported once where its answer is lost', async () => {
    const stage = await new GateStage().open()
    const [expired] = stage.store.hand('a')
    stage.store.expiring.add(expired!.id)
    await stage.pass(60)
    stage.store.losesReplies = true
    const done = stage.take([expired!])
    await stage.pass(10)
    stage.store.losesReplies = false
    await stage.pass(3_000)
    stage.errors.length = 0
    expect([stage.expired, done]).toEqual([['a1'], ['a1']])
    expect(calls(stage, 'gate').length).toBeGreaterThan(1)
    expectEmpty(stage)
  })

  test('is forgotten when a thousand others have expired since', async () => {
    const stage = await new GateStage().open()
    const jobs = stage.store.hand('a', 1_001)
    for (const { id } of jobs) stage.store.expiring.add(id)
    stage.take(jobs)
    await stage.pass(10_000)
    expect(stage.expired).toHaveLength(1_001)
    stage.take([jobs[0]!, jobs[1]!, jobs[1_000]!])
    await stage.pass(200)
    expect(stage.expired.slice(1_001)).toEqual(['a1'])
    expectEmpty(stage)
  })
})

describe('a job for which there is no handler, where the store goes away', () => {
  /** The only handler is taken, and the job waits for it until it is to be given back. */
  async function waitingStage() {
    const stage = await new GateStage().open(1, 1)
    stage.runs = 60_000_000
    stage.take(stage.store.hand('a'))
    await stage.pass(20)
    const [job] = stage.store.hand('b')
    const done = stage.take([job!])
    await stage.pass(20)
    stage.store.isDown = true
    await stage.pass(6_000)
    expect([stage.ids(), done, calls(stage, 'finish b1').length > 1]).toEqual([['a1'], [], true])
    stage.errors.length = 0
    return { stage, done, job: job! }
  }

  test('is given back once the store is back, and does not wait for the end of its lease', async () => {
    const { stage, done } = await waitingStage()
    stage.store.isDown = false
    await stage.pass(1_200)
    expect(stage.store.finished.map(([id, { outcome }]) => [id, outcome.kind])).toEqual([['b1', 'back']])
    expect(done).toEqual(['b1'])
    await stage.pass(60_000)
    expectEmpty(stage)
  })

  test('is left to its lease where another worker has it by then', async () => {
    const { stage, done, job } = await waitingStage()
    stage.store.take(job.id)
    stage.leases[0]!.lose(job)
    await stage.pass(4_000)
    expect(done).toEqual(['b1'])
    const asked = calls(stage, 'finish b1').length
    await stage.pass(4_000)
    expect(calls(stage, 'finish b1')).toHaveLength(asked)
    stage.store.isDown = false
    await stage.pass(60_000)
    stage.errors.length = 0
    expectEmpty(stage)
  })

  test('is left to its lease a moment after the gate has begun to close', async () => {
    const { stage, done } = await waitingStage()
    let isClosed = false
    void stage.gates[0]!.close().then(() => {
      isClosed = true
    })
    await stage.pass(2_500)
    expect([isClosed, done]).toEqual([true, ['b1']])
    stage.store.isDown = false
    await stage.pass(60_000)
    stage.errors.length = 0
    expectEmpty(stage)
  })
})
