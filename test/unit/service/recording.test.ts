import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { LimitInput } from '../../../src/core/limit.ts'
import { RuleBook } from '../../../src/core/rule-book.ts'
import { Shaper } from '../../../src/index.ts'
import { ArrivalsFile } from '../../../src/service/arrivals-file.ts'
import { Recording, type RecordingOptions } from '../../../src/service/recording.ts'
import type { Arrival } from '../../../src/simulate/arrival.ts'
import { readArrivals } from '../../../src/simulate/read-arrivals.ts'
import { Simulation } from '../../../src/simulate/simulation.ts'
import { VirtualClock } from '../../../src/testing.ts'
import { eventually } from '../../support/patience.ts'
import { memorableLog } from './memorable-log.ts'

const HEADER = 'offset_s,key,cost,costs\n'
const FORMER_HEADER = 'offset_s,key,cost\n'

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'velvet-rope-recording-'))
  onTestFinished(() => rmSync(path, { recursive: true }))
  return path
}

async function record(
  file = join(folder(), 'arrivals.csv'),
  limits: Record<string, LimitInput> = { '*': '3, 1/s' },
  options: Partial<RecordingOptions> = {},
) {
  const clock = new VirtualClock()
  const shaper = new Shaper('recorded', { limits, clock })
  const { log, lines } = memorableLog()
  const recording = await Recording.start(shaper, { file, log, gatherMs: 5, tryAgainMs: 20, ...options })
  return { clock, shaper, lines, recording, file, read: () => readFileSync(file, 'utf8') }
}

async function arrivalsIn(file: string, units: readonly string[] = []): Promise<Arrival[]> {
  const all: Arrival[] = []
  const chunks = async function* () {
    yield readFileSync(file)
  }
  for await (const batch of readArrivals(file, chunks(), units)) all.push(...batch)
  return all
}

describe('a recording', () => {
  test('has every arrival, accepted or not, jobs and turns, with its time, key and cost', async () => {
    const { clock, shaper, recording, read, file } = await record()
    await shaper.enqueue('a', 1, { id: 'x' })
    await clock.advance(1_234)
    await shaper.enqueue('a', 1, { cost: 2 })
    // Not another arrival: the first answer again.
    await shaper.enqueue('a', 1, { id: 'x' })
    await clock.advance(500_000)
    expect((await shaper.enqueue('a', 1)).accepted).toBe(false)
    expect((await shaper.tryAcquire('a')).accepted).toBe(false)
    expect((await shaper.tryAcquire('b')).accepted).toBe(true)
    await expect(shaper.enqueue('c', 1, { cost: 4 })).resolves.toMatchObject({ reason: 'too-costly' })
    await recording.close()
    expect(read()).toBe(
      `${HEADER}0.000000,a,1,\n0.001234,a,2,\n0.501234,a,1,\n0.501234,a,1,\n0.501234,b,1,\n0.501234,c,4,\n`,
    )
    expect(statSync(file).mode & 0o777).toBe(0o600)
    await shaper.enqueue('d', 1)
    expect(read()).not.toContain('d')
  })

  test('has what each arrival counts in named units, jobs and turns, accepted or not', async () => {
    const limits = { '*': '9, 1/s, 100 tokens/minute 5 each, 9 images/minute 1 each' }
    const { shaper, recording, read, file } = await record(undefined, limits)
    await shaper.enqueue('a', 1, { costs: { tokens: 60, images: 2 } })
    await shaper.enqueueMany([{ key: 'a', data: 1, costs: { tokens: 101 } }])
    await shaper.tryAcquire('b', { costs: { images: 9 } })
    await shaper.tryAcquire('b', { costs: { images: 3, tokns: 4 } })
    await shaper.enqueue('=c', 1, { cost: 2, costs: {} })
    await recording.close()
    expect(read()).toBe(
      `${HEADER}0.000000,a,1,"images=2,tokens=60"\n0.000000,a,1,tokens=101\n0.000000,b,1,images=9\n` +
        '0.000000,b,1,"images=3,tokns=4"\n0.000000,=c,2,\n',
    )
    expect((await arrivalsIn(file, ['tokens', 'images'])).map(({ costs }) => costs)).toEqual([
      { tokens: 60, images: 2 },
      { tokens: 101 },
      { images: 9 },
      { images: 3 },
      undefined,
    ])
  })

  test('keeps any key intact', async () => {
    const keys = [
      'a,b',
      'a"b',
      '"a"',
      '"',
      ',',
      ' a ',
      "'; DROP",
      '=1+1',
      'é\u2028\u{1f3ab}',
      '#x',
      '{"key":1}',
    ]
    const { shaper, recording, file } = await record()
    for (const key of keys) await shaper.enqueue(key, 1)
    await recording.close()
    expect((await arrivalsIn(file)).map(({ key }) => key)).toEqual(keys)
  })

  test.each([
    [
      'paces',
      {
        '*': '5, 2/s',
        vip: '8, 20/s',
        'vip/slow': '2, 1 per 3 seconds',
        warm: '6, 10/s, warm-up 2s',
      },
    ],
    [
      'quotas of units',
      {
        '*': '5, 20/s, 90 tokens/10s 20 each',
        vip: '8, 20/s, 60 tokens/5s 9 each, 40 images/minute 1 each',
        'vip/slow': '2, 1 per 3 seconds, 40 tokens/minute 5 each',
        warm: '6, 10/s, warm-up 2s, 9 images/3s 1 each',
      },
    ],
  ])(
    'simulated under the same limits gives each arrival the verdict of the shaper: %s',
    async (_, limits) => {
      const { clock, shaper, recording, file } = await record(undefined, limits)
      shaper.work(() => undefined)
      const keys = ['a', 'b', 'vip/1', 'vip/slow', 'warm']
      let seed = 7
      const random = () => {
        seed = (seed * 48_271) % 2_147_483_647
        return seed / 2_147_483_647
      }
      const upTo = (most: number) => 1 + Math.floor(random() * most)
      const verdicts = []
      for (let n = 0; n < 3_000; n++) {
        const key = keys[upTo(keys.length) - 1]!
        const costs = {
          ...(random() < 0.6 && { tokens: upTo(45) }),
          ...(random() < 0.6 && { images: upTo(4) }),
        }
        const answer = await shaper.enqueue(key, n, { cost: upTo(3), costs })
        verdicts.push(answer.accepted || answer.reason)
        if (random() < 0.3) await clock.advance(upTo(600_000))
      }
      await recording.close()
      const simulation = new Simulation(new RuleBook(limits))
      const simulated = (await arrivalsIn(file, ['tokens', 'images'])).map((arrival) => {
        const outcome = simulation.offer(arrival)
        return outcome.accepted || outcome.reason
      })
      expect(simulated).toEqual(verdicts)
      const { accepted, rejected } = simulation.summary()
      expect(Math.min(accepted, rejected)).toBeGreaterThan(500)
    },
  )

  test('is written in batches, soon', async () => {
    const append = vi.spyOn(ArrivalsFile.prototype, 'append')
    onTestFinished(() => append.mockRestore())
    const { shaper, recording, read } = await record()
    for (let n = 0; n < 500; n++) await shaper.enqueue(`k${n}`, 1)
    expect(append).not.toHaveBeenCalled()
    await eventually(() => expect(read().split('\n')).toHaveLength(502))
    expect(append).toHaveBeenCalledTimes(1)
    await recording.close()
  })
})

describe('an existing file', () => {
  test('is continued, in ascending time, even if the clock was set back meanwhile', async () => {
    const file = join(folder(), 'arrivals.csv')
    writeFileSync(file, `${HEADER}5.500000,before,1,\n`)
    const { shaper, recording, read, lines } = await record(file)
    await shaper.enqueue('after', 1)
    await recording.close()
    expect(read()).toBe(`${HEADER}5.500000,before,1,\n5.500000,after,1,\n`)
    expect(lines).toEqual([])
  })

  test('of an earlier version is continued in its form, with a warning; the next file has named costs', async () => {
    const file = join(folder(), 'arrivals.csv')
    writeFileSync(file, `${FORMER_HEADER}5.500000,before,1\n`)
    const { shaper, recording, read, lines } = await record(file)
    const costs = { images: 1, tokens: 12 }
    await shaper.enqueue('a,"x=1" ', 1, { costs })
    await shaper.enqueue('b', 1, { costs: { tokens: 12 } })
    await shaper.enqueue('c', 1)
    await recording.flush()
    expect(read()).toBe(
      `${FORMER_HEADER}5.500000,before,1\n5.500000,"a,""x=1"" ",1\n5.500000,b,1\n5.500000,c,1\n`,
    )
    expect(await arrivalsIn(file, ['tokens'])).toHaveLength(4)
    expect(lines).toMatchObject([
      { level: 'warn', message: expect.stringContaining('move it away'), fields: { file } },
    ])
    renameSync(file, `${file}.1`)
    await shaper.enqueue('d', 1, { costs })
    await recording.close()
    expect(read()).toBe(`${HEADER}5.500000,d,1,"images=1,tokens=12"\n`)
  })

  test.each(['5.6', '5.600000,tor', '5.600000,"to', '5.600000,torn,1,'])(
    'loses an incomplete last line: %s',
    async (torn) => {
      const file = join(folder(), 'arrivals.csv')
      writeFileSync(file, `${HEADER}5.500000,before,1,\n${torn}`)
      const { shaper, recording, file: written } = await record(file)
      await shaper.enqueue('after', 1)
      await recording.close()
      expect((await arrivalsIn(written)).map(({ key }) => key)).toEqual(['before', 'after'])
    },
  )

  test.each(['', 'off', FORMER_HEADER.trimEnd(), HEADER.trimEnd()])(
    'without a complete header, %j, gets one',
    async (begun) => {
      const file = join(folder(), 'arrivals.csv')
      writeFileSync(file, begun)
      const { shaper, recording, read } = await record(file)
      await shaper.enqueue('a', 1)
      await recording.close()
      expect(read()).toBe(`${HEADER}0.000000,a,1,\n`)
    },
  )

  test.each(['limits: {}\n', '{"offset_s":0,"key":"a"}\n', 'key,offset_s\n', 'offset_s,key,cost,tokens\n'])(
    'with other content, %j, is not changed',
    async (text) => {
      const file = join(folder(), 'precious')
      writeFileSync(file, text)
      await expect(record(file)).rejects.toMatchObject({
        code: 'invalid-options',
        message: expect.stringMatching(
          /^record: expected a file of arrivals, .*precious", which begins differently$/,
        ),
      })
      expect(readFileSync(file, 'utf8')).toBe(text)
    },
  )

  test('that cannot be created is reported at the start', async () => {
    const path = folder()
    mkdirSync(join(path, 'directory'))
    for (const [name, reason] of [
      ['directory', 'EISDIR'],
      ['no/arrivals.csv', 'ENOENT'],
    ] as const) {
      await expect(record(join(path, name))).rejects.toMatchObject({
        code: 'invalid-options',
        message: expect.stringContaining(reason),
      })
    }
    await expect(record('/dev/null')).rejects.toThrow('expected a regular file')
  })
})

describe('a file that disappears', () => {
  test.each(['moved', 'removed', 'cut to nothing'])('%s: a new one is created', async (how) => {
    const { shaper, recording, read, file } = await record()
    await shaper.enqueue('a', 1)
    await recording.flush()
    if (how === 'moved') renameSync(file, `${file}.1`)
    else if (how === 'removed') rmSync(file)
    else truncateSync(file)
    await shaper.enqueue('b', 1)
    await recording.close()
    expect(read()).toBe(`${HEADER}0.000000,b,1,\n`)
    if (how === 'moved') expect(readFileSync(`${file}.1`, 'utf8')).toBe(`${HEADER}0.000000,a,1,\n`)
  })

  test('with its folder: that is logged once and retried, and nothing is lost meanwhile', async () => {
    const path = join(folder(), 'logs')
    mkdirSync(path)
    const { shaper, recording, read, lines } = await record(join(path, 'arrivals.csv'))
    renameSync(path, `${path}.old`)
    await shaper.enqueue('a', 1)
    const errors = () => lines.filter(({ level }) => level === 'error')
    await eventually(() => expect(errors()).toHaveLength(1))
    await shaper.enqueue('b', 1)
    const tries = vi.spyOn(ArrivalsFile.prototype, 'append')
    onTestFinished(() => tries.mockRestore())
    await eventually(() => expect(tries.mock.calls.length).toBeGreaterThan(3))
    expect(errors()).toHaveLength(1)
    mkdirSync(path)
    await eventually(() => expect(existsSync(join(path, 'arrivals.csv'))).toBe(true))
    await recording.close()
    expect(read()).toBe(`${HEADER}0.000000,a,1,\n0.000000,b,1,\n`)
    expect(lines.at(-1)).toMatchObject({ message: 'arrivals are recorded again', fields: { dropped: 0 } })
  })
})

describe('a disk', () => {
  /** Makes the next appends fail, and hands them over to the file again afterwards. */
  function brokenDisk() {
    const error = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
    const append = vi.spyOn(ArrivalsFile.prototype, 'append').mockRejectedValue(error)
    onTestFinished(() => append.mockRestore())
    return append
  }

  test('that is full loses lines only when too many wait; when and how many is logged', async () => {
    const append = brokenDisk()
    const { shaper, recording, read, lines } = await record(undefined, undefined, { mostWaiting: 60 })
    for (const key of ['a', 'b', 'c', 'd', 'e', 'f']) await shaper.enqueue(key, 1)
    await eventually(() => expect(append.mock.calls.length).toBeGreaterThan(2))
    expect(lines.map(({ level, message }) => [level, message])).toEqual([
      ['warn', 'arrivals are not recorded: the file cannot be written fast enough'],
      ['error', 'arrivals cannot be recorded; retrying'],
    ])
    append.mockRestore()
    await eventually(() => expect(lines).toHaveLength(3))
    expect(lines[2]).toMatchObject({ message: 'arrivals are recorded again', fields: { dropped: 1 } })
    await shaper.enqueue('g', 1)
    await recording.close()
    expect(read().match(/,[a-g],/g)).toEqual([',a,', ',b,', ',c,', ',d,', ',e,', ',g,'])
  })

  test('that stays full does not prevent the end; lost lines are counted', async () => {
    brokenDisk()
    const { shaper, recording, lines } = await record()
    await shaper.enqueue('a', 1)
    await shaper.enqueue('b', 1)
    await recording.close()
    expect(lines.at(-1)).toMatchObject({
      message: 'arrivals at the end were not recorded',
      fields: { lines: 2 },
    })
  })

  test('that accepts part of a batch is left with whole lines', async () => {
    const { shaper, recording, read, file } = await record()
    await shaper.enqueue('a', 1)
    await recording.flush()
    const handle = (await import('node:fs/promises')).open(file)
    const prototype = Object.getPrototypeOf(await handle) as { write(...args: unknown[]): Promise<unknown> }
    await (await handle).close()
    const write = vi.spyOn(prototype, 'write')
    onTestFinished(() => write.mockRestore())
    write.mockImplementationOnce(async () => {
      appendFileSync(file, '0.000')
      return { bytesWritten: 5 }
    })
    write.mockRejectedValueOnce(new Error('ENOSPC'))
    await shaper.enqueue('b', 1)
    await recording.flush()
    expect(read()).toBe(`${HEADER}0.000000,a,1,\n`)
    await eventually(() => expect(read()).toBe(`${HEADER}0.000000,a,1,\n0.000000,b,1,\n`))
    await recording.close()
  })
})
