import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Line } from '../../../src/memory/store/line.ts'

interface Entry {
  readonly name: number
  place: number
  readonly cost: number
  readonly isTurn?: true
}

function entry(name: number): Entry {
  return { name, place: -1, cost: 1 }
}

/** What stands before one entry of a line, counted one by one. */
function countedBefore(entries: readonly Entry[], last: Entry) {
  const before = entries.slice(0, entries.indexOf(last))
  const units = before.reduce((sum, { cost }) => sum + cost, 0)
  return { jobs: before.length, units, turns: before.filter(({ isTurn }) => isTurn).length }
}

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

describe('what stands before an entry', () => {
  const kind = fc.record({
    cost: fc.constantFrom(1, 1, 1, 7),
    isTurn: fc.constantFrom(undefined, undefined, true as const),
  })
  const stretch = fc.oneof(
    fc.record({ do: fc.constant('join' as const), count: fc.integer({ min: 1, max: 400 }), kind }),
    fc.record({ do: fc.constant('next' as const), count: fc.integer({ min: 1, max: 300 }) }),
    fc.record({
      do: fc.constant('leave' as const),
      count: fc.integer({ min: 1, max: 300 }),
      part: fc.double({ min: 0, max: 1, noNaN: true }),
      each: fc.integer({ min: 1, max: 3 }),
    }),
  )

  test('is what counting finds, however many joined and left at both ends and in the middle', () => {
    fc.assert(
      fc.property(fc.array(stretch, { minLength: 3, maxLength: 12 }), (stretches) => {
        const line = new Line<Entry>()
        let model: Entry[] = []
        let made = 0
        for (const step of stretches) {
          if (step.do === 'join') {
            for (let n = 0; n < step.count; n++) {
              const { cost, isTurn } = step.kind
              const added = { ...entry(made++), cost, ...(isTurn && { isTurn }) }
              line.join(added)
              model.push(added)
            }
          } else if (step.do === 'next') {
            for (let n = 0; n < step.count; n++) expect(line.next()).toBe(model.shift())
          } else {
            const from = Math.floor(step.part * model.length)
            const leavers = model.slice(from, from + step.count).filter((_, n) => n % step.each === 0)
            for (const leaver of leavers) line.leave(leaver)
            model = model.filter((one) => !leavers.includes(one))
          }
          expect([line.size, line.first(), line.last()]).toEqual([model.length, model[0], model.at(-1)])
          for (const part of [0, 0.2, 0.5, 0.77, 0.999]) {
            const one = model[Math.floor(part * model.length)]
            if (one !== undefined) expect(line.before(one)).toEqual(countedBefore(model, one))
          }
        }
        expect([...line]).toEqual(model)
      }),
      { numRuns: 100 },
    )
  })

  test('is known where a long stretch has left between two entries', () => {
    const line = new Line<Entry>()
    const entries = Array.from({ length: 300_000 }, (_, name) => entry(name))
    for (const one of entries) line.join(one)
    for (const one of entries.slice(2, -2)) line.leave(one)
    const left = [...entries.slice(0, 2), ...entries.slice(-2)]
    expect([...line]).toEqual(left)
    expect(left.map((one) => line.before(one).jobs)).toEqual([0, 1, 2, 3])
    line.leave(left[2]!)
    line.leave(left[3]!)
    expect([line.last(), line.next(), line.next(), line.next()]).toEqual([
      left[1],
      left[0],
      left[1],
      undefined,
    ])
  })
})
