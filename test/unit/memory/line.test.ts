import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Line } from '../../../src/memory/store/line.ts'

function entry(name: number) {
  return { name, place: -1 }
}

type Entry = ReturnType<typeof entry>

const step = fc.oneof(
  { weight: 5, arbitrary: fc.constant({ do: 'join' } as const) },
  { weight: 3, arbitrary: fc.constant({ do: 'next' } as const) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('leave' as const), which: fc.nat() }) },
  { weight: 1, arbitrary: fc.constant({ do: 'first' } as const) },
)

test('it does whatever an array does', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300, size: 'max' }), (steps) => {
      const line = new Line<Entry>()
      let model: Entry[] = []
      for (const [name, step] of steps.entries()) {
        if (step.do === 'join') {
          const added = entry(name)
          line.join(added)
          model.push(added)
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
  test('is empty at first, and returns no entry', () => {
    const line = new Line<Entry>()
    expect([line.size, line.first(), line.next(), [...line]]).toEqual([0, undefined, undefined, []])
    expect(line.size).toBe(0)
  })

  test('does not grow while as many join as step out', () => {
    const line = new Line<Entry>()
    for (let name = 0; name < 3; name++) line.join(entry(name))
    for (let name = 3; name < 10_000; name++) {
      line.join(entry(name))
      expect(line.next()!.name).toBe(name - 3)
    }
    expect([...line].map(({ name }) => name)).toEqual([9_997, 9_998, 9_999])
  })

  test('closes gaps instead of growing while one entry stays at the front', () => {
    const line = new Line<Entry>()
    const patient = entry(-1)
    line.join(patient)
    for (let name = 0; name < 100_000; name++) {
      const fickle = entry(name)
      line.join(fickle)
      line.leave(fickle)
    }
    expect(patient.place).toBeLessThan(8)
    expect([line.size, line.next()]).toEqual([1, patient])
  })

  test('keeps its order over every size of the ring', () => {
    const line = new Line<Entry>()
    const entries = Array.from({ length: 5_000 }, (_, name) => entry(name))
    for (const one of entries) line.join(one)
    for (const one of entries) if (one.name % 3 === 1) line.leave(one)
    const left: Entry[] = []
    for (let one = line.next(); one !== undefined; one = line.next()) left.push(one)
    expect(left).toEqual(entries.filter(({ name }) => name % 3 !== 1))
  })
})
