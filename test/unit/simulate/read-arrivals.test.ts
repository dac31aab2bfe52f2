import { describe, expect, it } from 'vitest'
import { InvalidInputError } from '../../../src/core/errors.ts'
import { readArrivals } from '../../../src/simulate/read-arrivals.ts'

/** Reads `text` in pieces of `size` bytes, as a file or a pipe might bring it. */
async function read(text: string | Uint8Array, size = 65_536) {
  const bytes = typeof text === 'string' ? new TextEncoder().encode(text) : text
  async function* chunks() {
    for (let from = 0; from < bytes.length; from += size) yield bytes.subarray(from, from + size)
  }
  const arrivals = []
  for await (const batch of readArrivals('in.csv', chunks())) arrivals.push(...batch)
  return arrivals
}

describe('arrivals as CSV', () => {
  const quoted = '\uFEFFkey,offset_s,cost,more\r\n"a,""b""",0,2,"x\r\ny"\r\n\r\nc,1.5,1,\r\nä,2e0,3'
  const expected = [
    { at: 0, key: 'a,"b"', cost: 2 },
    { at: 1_500_000, key: 'c', cost: 1 },
    { at: 2_000_000, key: 'ä', cost: 3 },
  ]

  it('finds columns by name, and parses quotes, CR LF, a byte order mark and blank lines', async () => {
    expect(await read(quoted)).toEqual(expected)
  })

  it.each([1, 2, 3, 5, 7])('parses the same in pieces of %i bytes', async (size) => {
    expect(await read(quoted, size)).toEqual(expected)
  })

  it('ignores further columns and counts 1 where there is no cost', async () => {
    expect(await read('offset_s,key,bytes\n0,client-1,25230\n')).toEqual([
      { at: 0, key: 'client-1', cost: 1 },
    ])
  })

  it.each([
    ['', '1:1: expected arrivals as CSV or JSON lines, got nothing'],
    ['time,key\n', '1:1: expected a header with the column offset_s, got: "time", "key"'],
    ['offset_s,key,key\n', '1:14: the column "key" comes twice'],
    [
      'offset_s,key\n0,a\nx,b\n',
      '3:1: expected offset_s to be a number of seconds from 0 to 9000000000, got: "x" (string)',
    ],
    [
      'offset_s,key\n-1,a\n',
      '2:1: expected offset_s to be a number of seconds from 0 to 9000000000, got: -1',
    ],
    [
      'offset_s,key\n1,a\n0.5,b\n',
      '3:1: expected arrivals in the order of time, got: 0.5 after 1; sort them',
    ],
    ['offset_s,key\n0,\n', '2:3: expected the key to be 1 to 256 bytes, got: 0'],
    ['offset_s,key\n0\n', '2:2: expected a value for key, got the end of the line'],
    ['offset_s,key,cost\n0,a,0\n', '2:5: expected cost to be a whole number from 1 to 1000000000, got: 0'],
    [
      'offset_s,key,cost\n0,a,\n',
      '2:5: expected cost to be a whole number from 1 to 1000000000, got: "" (string)',
    ],
    ['offset_s,key\n0,a\n1,b"c\n', '3:4: a quote inside "b\\"c": quote all of it'],
    ['offset_s,key\n0,"a"b\n', '2:6: expected a comma after the closing quote, got: "b\\n"'],
    ['offset_s,key\n0,"a\nb', '2:3: a quote that is never closed'],
    ['offset_s,key\n0,__proto__\n', '2:3: expected the key to have no segment __proto__, got: "__proto__"'],
    ['offset_s,key,note\n0,a,"x\ny"\n1,,z\n', '4:3: expected the key to be 1 to 256 bytes, got: 0'],
    [
      'offset_s,key,cost\n0,a,1\n1,b,1,600\n',
      '3:5: expected 3 fields, as in the header, got: 4; write a number without a comma inside: 1600, not 1,600',
    ],
    [
      'offset_s,key,cost\n0,a, b,1\n',
      '2:8: expected 3 fields, as in the header, got: 4; quote a text that has a comma inside',
    ],
    [
      'offset_s,key,cost\n0,a,1,\n',
      '2:7: expected 3 fields, as in the header, got: 4; quote a text that has a comma inside',
    ],
  ])('reports the position of the error in %j', async (text, message) => {
    const failure = await read(text).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(InvalidInputError)
    expect(failure).toMatchObject({ code: 'invalid-input', message: `in.csv:${message}` })
  })

  it('rejects bytes that are not UTF-8, with the line', async () => {
    const bytes = Uint8Array.from([...new TextEncoder().encode('offset_s,key\n0,a\n1,'), 0xff, 10])
    await expect(read(bytes)).rejects.toThrow('in.csv:3:1: expected UTF-8 text')
  })

  it('does not take a whole file for one quoted field', async () => {
    await expect(read(`offset_s,key\n0,"${'x'.repeat(2_000_000)}`)).rejects.toThrow('a quote not closed?')
  })
})

describe('arrivals as JSON lines', () => {
  it('parses one object per line, with properties in any order', async () => {
    const text = '{"offset_s":0,"key":"a"}\n\n{"cost":2,"key":"b","offset_s":0.25,"more":[1]}'
    for (const size of [3, 65_536]) {
      expect(await read(text, size)).toEqual([
        { at: 0, key: 'a', cost: 1 },
        { at: 250_000, key: 'b', cost: 2 },
      ])
    }
  })

  it.each([
    ['{"offset_s":0,"key":"a"}\n{"offset_s":0,,}', '2:15: expected a JSON object'],
    ['{"offset_s":0,"key":"a"}\n[1]', '2:1: expected a JSON object, got: an array of 1'],
    ['{"offset_s":"0","key":"a"}', '1:2: expected offset_s to be a number of seconds'],
    ['{"offset_s":0}', '1:1: expected the key to be a string, got: undefined'],
    ['{"offset_s":0,"key":"a","cost":1.5}', '1:25: expected cost to be a whole number'],
  ])('reports the position of the error in %j', async (text, message) => {
    await expect(read(text)).rejects.toThrow(`in.csv:${message}`)
  })
})
