import { deepStrictEqual, ok } from 'node:assert/strict'
import fc from 'fast-check'
import { encodeData } from '../../../src/core/data.ts'
import { DataTooLargeError, isVelvetRopeError } from '../../../src/core/errors.ts'
import { RequestReader } from '../../../src/shaper/request-reader.ts'
import { DRIVERS } from '../../conformance/drivers.ts'
import { at, COMPLETED, request, SETTINGS } from '../../support/backend-driver.ts'
import { machine, pureMachine } from '../machine.ts'
import { oddNumber, oddText, oddValue } from '../odd-values.ts'
import { outcomeOf } from '../refusals.ts'

const MOST = 5_000
/** From here on the record of a job on Redis does not hold its data. */
const LARGE = 4_096

function nested(depth: number, isList: boolean): unknown {
  return Array.from({ length: depth }).reduce((inner) => (isList ? [inner] : { a: inner }), null)
}

const sized = fc
  .tuple(
    fc.constantFrom(LARGE, MOST, 0),
    fc.integer({ min: -4, max: 4 }),
    fc.constantFrom('x', 'é', '€', '🎟️', '\u0000', '"', '\ud800'),
  )
  .map(([bytes, off, unit]) => unit.repeat(Math.max(0, Math.floor((bytes + off) / Buffer.byteLength(unit)))))
const json = fc.oneof(
  fc.jsonValue({ maxDepth: 4, noUnicodeString: false }),
  fc.constantFrom<unknown>(
    {},
    [],
    [[]],
    [{}],
    { a: {} },
    '',
    0,
    null,
    { __proto__: null },
    JSON.parse('{"__proto__":{"polluted":1}}'),
  ),
  fc.tuple(fc.integer({ min: 90, max: 110 }), fc.boolean()).map(([depth, isList]) => nested(depth, isList)),
  oddNumber,
  oddText,
  sized,
  fc.dictionary(oddText, oddNumber, { maxKeys: 4 }),
)

const reader = new RequestReader({ ...SETTINGS, keepFinished: 1, keepFinishedMs: 1 }, MOST)

/** Data: refused by name, or JSON that gives the same value; counted in bytes to the last one. */
export const dataOfJobs = pureMachine(
  { name: 'data of jobs', inputs: fc.oneof(json, oddValue), few: 4_000, share: 10 },
  (data) => {
    const outcome = outcomeOf(() => encodeData(data), 'invalid-data')
    if (outcome.kind === 'refused') return
    // The text of a copy is the same: nothing was lost on the way. (-0 is 0 in JSON.)
    deepStrictEqual(encodeData(JSON.parse(outcome.value)), outcome.value)
    if (!isCopied(data, JSON.parse(outcome.value))) throw new Error(`lost on the way: ${outcome.value}`)
    const bytes = Buffer.byteLength(outcome.value)
    const read = outcomeOf(() => reader.read('a', data, undefined), 'data-too-large')
    ok((read.kind === 'value') === bytes <= MOST, `${bytes} bytes: ${read.kind}`)
    if (read.kind === 'refused') ok(read.error instanceof DataTooLargeError && read.error.bytes === bytes)
  },
)

/** Whether the copy has all values of the data; fields that are undefined are left out, as in JSON. */
function isCopied(data: unknown, copy: unknown): boolean {
  if (typeof data !== 'object' || data === null) return data === copy
  if (typeof copy !== 'object' || copy === null || Array.isArray(data) !== Array.isArray(copy)) return false
  const fields = Object.entries(data).filter(([, value]) => value !== undefined)
  const entries = Object.entries(copy)
  return (
    entries.length === fields.length &&
    fields.every(([name, value], at) => entries[at]![0] === name && isCopied(value, entries[at]![1]))
  )
}

/** Through a whole line, in memory and on Redis: the handler gets the bytes that the producer sent. */
export const delivery = machine({
  name: 'delivery of data',
  inputs: json,
  few: 150,
  share: 4,
  open: async () => {
    const drivers = await Promise.all(DRIVERS.map(([, open]) => open({ '*': '9, 1000/s, tolerance 0' })))
    let [now, count] = [at(0), 0]
    const give = async (data: unknown) => {
      let text: string
      try {
        text = encodeData(data)
      } catch (error) {
        if (isVelvetRopeError(error, 'invalid-data')) return 1
        throw error
      }
      const id = `j${count++}`
      now += 1_000_000
      for (const driver of drivers) {
        const admission = await driver.admit(request(id, { data: text }), now)
        ok(admission.accepted)
        const started = await driver.startNext(now)
        deepStrictEqual([started?.id, started?.data], [id, text])
        await driver.finish(id, COMPLETED, now)
      }
      return 1
    }
    return { give, close: async () => void (await Promise.all(drivers.map((driver) => driver.close()))) }
  },
})
