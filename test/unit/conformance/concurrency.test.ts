import { describe, expect, test } from 'vitest'
import { checkHistory } from '../../../src/conformance/conformance.ts'
import { breakersOf } from '../../support/breakers.ts'
import { accept, end, fault, giveBack, limit, release, start } from '../../support/history.ts'

const ruled = (at: number, concurrency?: number, key = 'a') =>
  limit(at, '9000, 1000/s, tolerance 0', key, concurrency === undefined ? {} : { concurrency })
const US = 0.001
const ids = ['v', 'w', 'x', 'y', 'z']
const line = ids.map((id) => accept(0, id))

const broken = breakersOf('L11')

describe('at most N attempts run at once', () => {
  const two = [ruled(0, 2), ...line, start(1, 'v'), start(2, 'w')]

  test('and one more is a breach with its numbers', () => {
    expect(broken(two)).toEqual([])
    expect(checkHistory([...two, start(3, 'x')], { unfinished: true })).toEqual([
      {
        law: 'L11',
        at: 3_000,
        key: 'a',
        id: 'x',
        message:
          'key "a": the start of job "x" at 0.003000 s made 3 attempts run at once, expected at most 2',
      },
    ])
  })

  test('an end and a return give the place to the next start, and only to one', () => {
    for (const over of [
      end(5, 'v'),
      end(5, 'v', 'failed'),
      giveBack(5, 'v', 'retry', 999),
      giveBack(5, 'v', 'freeze', 999),
    ]) {
      expect(broken([...two, over, start(5, 'x')])).toEqual([])
      expect(broken([...two, start(5 - US, 'x'), over])).toEqual(['x'])
      expect(broken([...two, over, start(5, 'x'), start(6, 'y')])).toEqual(['y'])
    }
  })

  test('an end frees one place, however often it comes', () => {
    const twice = [...two, end(5, 'v'), end(6, 'v'), start(7, 'x'), start(8, 'y')]
    const laws = checkHistory(twice, { unfinished: true }).map(({ law, id }) => [law, id])
    expect(laws).toEqual([
      ['L5', 'v'],
      ['L11', 'y'],
    ])
  })

  test('a job that leaves the line frees none', () => {
    expect(broken([...two, end(3, 'z', 'cancelled'), start(4, 'x')])).toEqual(['x'])
  })

  test('a lag excuses none', () => {
    expect(broken([...two, start(5, 'x'), end(6, 'v')], { lag: 50_000 })).toEqual(['x'])
  })

  test('each key has its own places, and one without a bound has no end of them', () => {
    const other = [ruled(0, undefined, 'b'), ...['p', 'q', 'r'].map((id) => accept(0, id, { key: 'b' }))]
    const free = ['p', 'q', 'r'].map((id, index) => start(3 + index, id, { key: 'b' }))
    expect(broken([...other, ...two, ...free])).toEqual([])
  })

  test('a lower bound stops none that runs, and no other starts until enough have ended', () => {
    const lowered = [...two, ruled(3, 1), end(4, 'v')]
    expect(broken(lowered)).toEqual([])
    expect(broken([...lowered, start(5, 'x')])).toEqual(['x'])
    expect(broken([...lowered, end(5, 'w'), start(5, 'x')])).toEqual([])
  })

  test('a bound that comes later counts what runs already', () => {
    const unbound = [ruled(0), ...line, start(1, 'v'), start(2, 'w'), ruled(3, 2)]
    expect(broken([...unbound, start(4, 'x')])).toEqual(['x'])
    expect(broken([...unbound, end(4, 'v'), start(4, 'x')])).toEqual([])
  })

  test('while a change settles, either bound may be in force', () => {
    const raised = (at: number) => [...two, ruled(100, 1), end(101, 'v'), start(at, 'x')]
    expect(broken(raised(149), { settle: 50_000 })).toEqual([])
    expect(broken(raised(150), { settle: 50_000 })).toEqual(['x'])
  })
})

describe('a crashed attempt', () => {
  const one = [ruled(0, 1), ...line, start(1, 'v')]

  test('holds its place until its lease can have ended', () => {
    expect(broken([...one, start(5, 'w')])).toEqual(['w'])
    expect(broken([...one, fault(5, 'v', 3_000), start(3_000, 'w')])).toEqual([])
    expect(broken([...one, fault(5, 'v', 3_000), start(3_000 - US, 'w')])).toEqual(['w'])
    expect(broken([...one, fault(5, 'v'), start(5, 'w')])).toEqual([])
  })

  test('holds none in its lease once its end was reported', () => {
    expect(broken([...one, fault(5, 'v', 3_000), end(9, 'v'), start(9, 'w')])).toEqual([])
  })

  test('takes a place again when it starts again', () => {
    const back = [...one, fault(5, 'v', 3_000), start(3_000, 'v')]
    expect(broken(back)).toEqual([])
    expect(broken([...back, start(3_001, 'w')])).toEqual(['w'])
    expect(broken([...back, end(3_001, 'v'), start(3_001, 'w')])).toEqual([])
  })
})

describe('a turn that is held', () => {
  const held = [ruled(0, 1), ...line, start(1, 'v', { isHeld: true }), end(1, 'v')]

  test('keeps its place after its end, until it is released', () => {
    expect(broken([...held, start(5, 'w')])).toEqual(['w'])
    expect(broken([...held, release(5, 'v'), start(5, 'w')])).toEqual([])
  })

  test('that is released twice frees one place', () => {
    const twice = [...held, release(5, 'v'), start(6, 'w'), release(7, 'v')]
    expect(broken([...twice, start(8, 'x')])).toEqual(['x'])
  })

  test('keeps its place until its lease can have ended, when its process dies', () => {
    expect(broken([...held, fault(5, 'v', 3_000), start(2_999, 'w')])).toEqual(['w'])
    expect(broken([...held, fault(5, 'v', 3_000), start(3_000, 'w')])).toEqual([])
  })

  test('without a hold is over at its end', () => {
    expect(broken([ruled(0, 1), ...line, start(1, 'v'), end(1, 'v'), start(2, 'w')])).toEqual([])
  })
})
