import { describe, expect, test } from 'vitest'
import type { Entry } from './actors/world.ts'
import { World } from './actors/world.ts'
import { setup } from './configs.ts'
import { judgeRollback, judgeStart } from './laws.ts'
import { GRANTED } from './store/shard.ts'

const INTERVAL = 2

/** Job a costs 1 and job b 3; the store has admitted both, or only job a. */
function worldThatKnows(costliest: number): World {
  const jobs = [{ cost: 1 }, { cost: 3 }]
  const limits = [{ capacity: 4, interval: INTERVAL, tolerance: 0 }]
  const world = new World(setup('laws', { jobs, limits, faults: 1, kinds: ['rollback'] }))
  world.shard.meta.costliest = costliest
  for (const told of world.told) Object.assign(told, { told: 1, spare: 3, hasStarted: 1 })
  return world
}

/** The store has granted it a slot, or has lost that. */
function begin(world: World, job: number, isKnown = true): void {
  const entry: Entry = world.workers[0]!.entries[0]!
  Object.assign(entry, { job: job + 1, epoch: 1, startAt: 0 })
  Object.assign(world.shard.jobs[job]!, { state: isKnown ? GRANTED : 0, epoch: 1, worker: 1 })
  judgeStart(world, 1, entry)
}

function lose(world: World): void {
  world.globals.isLossy = 1
  judgeRollback(world)
}

/** How long after that a start is the first that keeps the law; ticks. */
function waitAfter(prepare: () => World): number {
  for (let ticks = 0; ; ticks++) {
    const world = prepare()
    world.elapse(ticks)
    begin(world, 0)
    if (world.breach !== 'L2 spacing') return ticks
  }
}

describe('the spacing after a start of cost 3', () => {
  test('is that of its cost, as long as nothing is lost', () => {
    const wait = waitAfter(() => {
      const world = worldThatKnows(3)
      begin(world, 1)
      return world
    })
    expect(wait).toBe(3 * INTERVAL)
  })

  test('is no shorter after a loss, where the store still knows of such a cost', () => {
    const wait = waitAfter(() => {
      const world = worldThatKnows(3)
      begin(world, 1)
      lose(world)
      return world
    })
    expect(wait).toBe(3 * INTERVAL)
  })

  test('is, from the loss on, that of the costliest job of which the store still knows', () => {
    for (const [costliest, units] of [
      [0, 1],
      [1, 1],
      [2, 2],
    ] as const) {
      const wait = waitAfter(() => {
        const world = worldThatKnows(3)
        begin(world, 1)
        world.shard.meta.costliest = costliest
        lose(world)
        return world
      })
      expect(wait).toBe(units * INTERVAL)
    }
  })

  test('counts from its start, where the loss came so late that this is less', () => {
    const wait = waitAfter(() => {
      const world = worldThatKnows(3)
      begin(world, 1)
      world.elapse(5)
      world.shard.meta.costliest = 1
      lose(world)
      return world
    })
    expect(wait).toBe(1)
  })

  test('is the same where its slot was lost and it starts after the loss', () => {
    const wait = waitAfter(() => {
      const world = worldThatKnows(1)
      lose(world)
      begin(world, 1, false)
      return world
    })
    expect(wait).toBe(INTERVAL)
  })

  test('is that of its cost where it got its slot after the loss', () => {
    const wait = waitAfter(() => {
      const world = worldThatKnows(1)
      lose(world)
      world.shard.meta.costliest = 3
      begin(world, 1)
      return world
    })
    expect(wait).toBe(3 * INTERVAL)
  })
})
