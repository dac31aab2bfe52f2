import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Line } from '../../../src/memory/store/line.ts'

function guest(name: number) {
  return { name, place: -1 }
}

type Guest = ReturnType<typeof guest>

const step = fc.oneof(
  { weight: 5, arbitrary: fc.constant({ do: 'join' } as const) },
  { weight: 3, arbitrary: fc.constant({ do: 'next' } as const) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('leave' as const), which: fc.nat() }) },
  { weight: 1, arbitrary: fc.constant({ do: 'first' } as const) },
)

test('it does whatever an array does', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300, size: 'max' }), (steps) => {
      const line = new Line<Guest>()
      let model: Guest[] = []
      for (const [name, step] of steps.entries()) {
        if (step.do === 'join') {
          const newcomer = guest(name)
          line.join(newcomer)
          model.push(newcomer)
        } else if (step.do === 'next') {
          expect(line.next()).toBe(model.shift())
        } else if (step.do === 'first') {
          expect(line.first()).toBe(model[0])
        } else if (model.length > 0) {
          const leaver = model[step.which % model.length]!
          line.leave(leaver)
          model = model.filter((one) => one !== leaver)
        }
        expect(line.size).toBe(model.length)
        expect([...line]).toEqual(model)
      }
    }),
    { numRuns: 500 },
  )
})

describe('a line', () => {
  test('is empty at first, and has nobody to give', () => {
    const line = new Line<Guest>()
    expect([line.size, line.first(), line.next(), [...line]]).toEqual([0, undefined, undefined, []])
    expect(line.size).toBe(0)
  })

  test('does not grow while as many join as step out', () => {
    const line = new Line<Guest>()
    for (let name = 0; name < 3; name++) line.join(guest(name))
    for (let name = 3; name < 10_000; name++) {
      line.join(guest(name))
      expect(line.next()!.name).toBe(name - 3)
    }
    expect([...line].map(({ name }) => name)).toEqual([9_997, 9_998, 9_999])
  })

  test('closes gaps instead of growing: one who stays at the front holds up no memory', () => {
    const line = new Line<Guest>()
    const patient = guest(-1)
    line.join(patient)
    for (let name = 0; name < 100_000; name++) {
      const fickle = guest(name)
      line.join(fickle)
      line.leave(fickle)
    }
    expect(patient.place).toBeLessThan(8)
    expect([line.size, line.next()]).toEqual([1, patient])
  })

  test('keeps its order over every size of the ring', () => {
    const line = new Line<Guest>()
    const guests = Array.from({ length: 5_000 }, (_, name) => guest(name))
    for (const one of guests) line.join(one)
    for (const one of guests) if (one.name % 3 === 1) line.leave(one)
    const left: Guest[] = []
    for (let one = line.next(); one !== undefined; one = line.next()) left.push(one)
    expect(left).toEqual(guests.filter(({ name }) => name % 3 !== 1))
  })
})
