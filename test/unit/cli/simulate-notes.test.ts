import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { run } from './run-program.ts'

const folder = mkdtempSync(join(tmpdir(), 'velvet-rope-notes-'))
afterAll(() => rmSync(folder, { recursive: true }))

function file(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

const LIMIT = '9, 1/s, 1000 tokens/minute 400 each'
const NO_TOKENS = 'no arrival has tokens: each job counts as many as its limit says\n'

describe('simulate says which columns of the arrivals it ignores', () => {
  it.each([
    [
      'offset_s,key,token\n0,a,5\n',
      '"token" in the arrivals is no unit of a limit, and is ignored: did you mean tokens?',
    ],
    [
      'offset_s,key,bytes\n0,a,5\n',
      '"bytes" in the arrivals is no unit of a limit, and is ignored: units are tokens',
    ],
    [
      '{"offset_s":0,"key":"a"}\n{"offset_s":1,"key":"a","Tokens":5}\n',
      '"Tokens" in the arrivals is no unit of a limit, and is ignored: did you mean tokens?',
    ],
    [
      'offset_s,key,costs\n0,a,\n1,a,tokns=5\n',
      '"tokns" in the arrivals is no unit of a limit, and is ignored: did you mean tokens?',
    ],
  ])('in %j', async (text, sentence) => {
    const { code, stderr } = await run('simulate', file('arrivals', text), '-l', LIMIT)
    expect({ code, stderr }).toEqual({ code: 0, stderr: `${sentence}\n${NO_TOKENS}` })
  })

  it('where the limits have no units, too', async () => {
    const arrivals = file('arrivals', 'offset_s,key,tokens\n0,a,5\n')
    const { stderr } = await run('simulate', arrivals, '-l', '9, 1/s')
    expect(stderr).toBe(
      '"tokens" in the arrivals is no unit of a limit, and is ignored: the limits have none\n',
    )
  })

  it('but for the columns that it writes itself, and of many columns only the first eight', async () => {
    const out = join(folder, 'out.csv')
    const arrivals = file('arrivals', 'offset_s,key,tokens\n0,a,5\n')
    expect(await run('simulate', arrivals, '-l', LIMIT, '--handler-ms', '5', '--out', out)).toMatchObject({
      code: 0,
    })
    expect(await run('simulate', out, '-l', LIMIT)).toMatchObject({ code: 0, stderr: '' })
    const names = Array.from({ length: 20 }, (_, index) => `column${index}`)
    const wide = file('arrivals', `offset_s,key,${names.join(',')}\n0,a,${names.map(() => 1).join(',')}\n`)
    const { stderr } = await run('simulate', wide, '-l', '9, 1/s')
    expect(stderr.match(/"column/g)).toHaveLength(8)
  })
})

it('simulate refuses to write a file with a unit that is called like one of its columns, and writes nothing', async () => {
  const out = join(folder, 'clash.csv')
  const arrivals = file('arrivals', 'offset_s,key\n0,a\n')
  const limit = '9, 1/s, 1000 position/minute 400 each'
  const { code, stderr } = await run('simulate', arrivals, '-l', limit, '--out', out)
  expect(code).toBe(2)
  expect(stderr).toMatch(
    /--out: expected units with other names than the columns of the file \(offset_s, .+\), got: "position"/,
  )
  expect(existsSync(out)).toBe(false)
  expect(await run('simulate', arrivals, '-l', limit)).toMatchObject({ code: 0 })
})

it('simulate names the quota that jobs alone exceed', async () => {
  const arrivals = file('arrivals', 'offset_s,key,cost,tokens\n0,a,1,1001\n0,a,10,\n0,a,1,1000\n')
  const { stdout } = await run('simulate', arrivals, '-l', LIMIT)
  expect(stdout).toMatch(
    /^rejected +2 +66\.7 % +\(0 full, 2 too costly\)\ntoo costly for +1000 tokens\/minute: 1 job\n +the capacity: 1 job\nwait /m,
  )
})

describe('simulate under a quota of a calendar', () => {
  const limit = '9, 1/s, 2 per day in America/Los_Angeles'
  const arrivals = file('calendar.csv', 'offset_s,key\n0,a\n1,a\n2,a\n')

  it('takes offset 0 for the beginning of 1970, and says so', async () => {
    const { stdout, stderr } = await run('simulate', arrivals, '-l', limit, '--json')
    // Midnight in Los Angeles is at 08:00 in UTC.
    expect(JSON.parse(stdout)).toMatchObject({ firstArrivalS: 0, lastDepartureS: 8 * 3_600 + 1.001 })
    expect(stderr).toBe(
      'quotas of a calendar take offset 0 for 1970-01-01T00:00:00Z: say with --start when it is\n',
    )
    expect((await run('simulate', arrivals, '-l', '9, 1/s, 2/day')).stderr).toBe('')
  })

  it('takes offset 0 for --start', async () => {
    const flags = ['-l', limit, '--start', '2026-07-01T18:00:00+02:00', '--from', '1', '--json']
    const { stdout, stderr } = await run(
      'simulate',
      file('later.csv', 'offset_s,key\n0,b\n1,a\n2,a\n3,a\n'),
      ...flags,
    )
    const start = Date.UTC(2026, 6, 1, 16) / 1_000
    const midnight = Date.UTC(2026, 6, 2, 7) / 1_000
    expect(JSON.parse(stdout)).toMatchObject({
      arrivals: 3,
      firstArrivalS: start + 1,
      lastDepartureS: midnight + 1.001,
    })
    expect(stderr).toBe('')
  })

  it.each(['2026-07-01', '2026-07-01T18:00:00', 'now', '2026-13-01T00:00:00Z'])(
    'refuses --start %s',
    async (text) => {
      expect(await run('simulate', arrivals, '-l', limit, '--start', text)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(`Expected a time such as 2026-03-29T00:00:00Z, got: "${text}"`),
      })
    },
  )
})
