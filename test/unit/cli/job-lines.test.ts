import { describe, expect, it } from 'vitest'
import { type JobLine, type JobLinesOptions, readJobLines } from '../../../src/cli/enqueue/job-lines.ts'
import { parseJson } from '../../../src/cli/json-text.ts'

async function* chunks(...texts: readonly string[]) {
  for (const text of texts) yield Buffer.from(text)
}

async function read(texts: readonly string[], options: Partial<JobLinesOptions> = {}) {
  const batches: (readonly JobLine[])[] = []
  for await (const batch of readJobLines(chunks(...texts), { file: 'jobs', defaults: {}, ...options })) {
    batches.push(batch)
  }
  return batches
}

describe('JSON lines of jobs', () => {
  it('are read as they come in, over the borders of chunks, with their line numbers', async () => {
    const batches = await read([
      '{"key":"a","data":1}\n\n{"key":"b","da',
      'ta":{"x":[null]},"id":"seven"}\r\n',
    ])
    expect(batches.flat()).toEqual([
      { line: 1, request: { key: 'a', data: 1, id: expect.stringMatching(/^[0-9a-f]{32}$/) } },
      { line: 3, request: { key: 'b', data: { x: [null] }, id: 'seven' } },
    ])
    expect(batches).toHaveLength(2)
  })

  it('need no end of line at the end, and may be none at all', async () => {
    expect((await read(['{"key":"a","data":1}'])).flat()).toHaveLength(1)
    expect(await read([' \n'])).toEqual([])
  })

  it('come in batches of at most 500', async () => {
    const batches = await read(['{"key":"a","data":1}\n'.repeat(1_100)])
    expect(batches.map(({ length }) => length)).toEqual([500, 500, 100])
  })

  it('get what they do not say themselves', async () => {
    const lines = '{"key":"a","data":1}\n{"key":"a","data":1,"cost":2,"deadlineMs":5}\n'
    const batches = await read([lines], { defaults: { cost: 7, attempts: 3 } })
    expect(batches.flat().map(({ request }) => request)).toMatchObject([
      { cost: 7, attempts: 3 },
      { cost: 2, attempts: 3, deadlineMs: 5 },
    ])
  })

  it.each([
    ['{"key":"a","data":1,}', 'jobs:2:21: expected JSON, such as'],
    ['nonsense', 'jobs:2:2: expected JSON'],
    ['{"key":"a","data":', 'jobs:2:19: expected JSON'],
    ['[1]', 'jobs:2:1: expected a JSON object, such as { "key": "a", "data": ... }, got: an array of 1'],
    ['{"key":"a"}', 'jobs:2:1: expected a value for data, got none'],
    ['{"data":1}', 'jobs:2:1: expected a value for key, got none'],
    ['{"data":1,"key":""}', 'jobs:2:11: expected the key to be 1 to 256 bytes, got: 0'],
    ['{"data":1,"key":5}', 'jobs:2:11: expected the key to be a string, got: 5'],
    ['{"key":"a","data":1,"cost":0}', 'jobs:2:21: job: expected cost to be a number, at least 1, got: 0'],
    ['{"key":"a","data":1,"id":"no spaces"}', 'jobs:2:21: job: expected id to be letters, digits'],
    ['{"key":"a","data":1,"csot":1}', 'jobs:2:21: job: unknown option "csot": did you mean cost?'],
    [
      `{"key":"a","data":${'['.repeat(101)}${']'.repeat(101)}}`,
      'jobs:2:12: expected JSON data of at most 100',
    ],
  ])('%s is refused with its place', async (line, message) => {
    const text = `{"key":"a","data":1}\n${line}\n{"key":"a","data":1}\n`
    await expect(read([text])).rejects.toThrow(message)
    const seen: string[] = []
    const batches = await read([text], { onInvalid: (error) => void seen.push(error.message) })
    expect(seen).toEqual([expect.stringContaining(message)])
    expect(batches.flat().map(({ line }) => line)).toEqual([1, 3])
  })

  it('give out nothing of a batch with a bad line', async () => {
    const given: number[] = []
    const reading = readJobLines(chunks(`${'{"key":"a","data":1}\n'.repeat(700)}oops\n`), {
      file: 'jobs',
      defaults: {},
    })
    await expect(async () => {
      for await (const batch of reading) given.push(batch.length)
    }).rejects.toThrow('jobs:701:1: expected JSON')
    expect(given).toEqual([500])
  })

  it('may not be endless', async () => {
    await expect(read([`"${'x'.repeat(1_100_000)}`])).rejects.toThrow('jobs:1:1: expected a line of at most')
  })
})

describe('JSON that is none', () => {
  it.each([
    ['', 1],
    ['{', 2],
    ['{"a": x}', 7],
    ['[1 2]', 4],
    ['"abc', 5],
    ['"a\tb"', 3],
    ['"\\u12g4"', 6],
    ['nullx', 5],
    ['{"a":1} x', 9],
    ['[1,]', 4],
  ])('%j is so from column %d on', (text, column) => {
    expect(parseJson(text)).toEqual({ ok: false, column })
  })
})
