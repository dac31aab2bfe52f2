import { afterEach, beforeEach, expect } from 'vitest'
import { VirtualClock } from '../../../../src/core/virtual-clock.ts'
import {
  RedisScheduler,
  type RedisSchedulerOptions,
} from '../../../../src/redis/scheduler/redis-scheduler.ts'
import { FakeStore, FakeTransport } from './fake-store.ts'

export const MS = 1_000
export const S = 1_000_000

/** What the schedulers of one test share; new for each test. */
export let clock: VirtualClock
export let store: FakeStore
export let transport: FakeTransport
/** What listeners received, in short. */
export let events: string[]
/** Messages of errors; those that a test expects, it takes out. */
export let errors: string[]
let started: RedisScheduler[]

/** To be called once in a test file: afterwards every scheduler is stopped, and no error is left. */
export function useStage(): void {
  beforeEach(() => {
    clock = new VirtualClock(1_000 * S)
    store = new FakeStore(clock)
    transport = new FakeTransport(clock)
    events = []
    errors = []
    started = []
  })
  afterEach(async () => {
    for (const scheduler of started) await scheduler.stop()
    expect(errors).toEqual([])
  })
}

export function scheduler(options: Partial<RedisSchedulerOptions> = {}): RedisScheduler {
  const made = new RedisScheduler({
    name: 'a',
    shaper: 'stage',
    shard: 0,
    backend: store,
    wakes: store.wakes,
    transport,
    clock,
    onExpired: (job) => void events.push(`expired ${job.id}`),
    onRecovered: (job) => void events.push(`recovered ${job.id}`),
    onError: (error) => void errors.push(error.message),
    random: () => 0.5,
    ...options,
  })
  started.push(made)
  return made
}

export const ids = (count: number, from = 0) =>
  Array.from({ length: count }, (_, index) => `j${from + index}`)
export const handedIds = () => transport.handed.map(({ id }) => id)
