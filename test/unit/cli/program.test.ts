import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { run } from './run-program.ts'

const folder = mkdtempSync(join(tmpdir(), 'velvet-rope-cli-'))
afterAll(() => rmSync(folder, { recursive: true }))

const arrivals = file(
  'arrivals.csv',
  `offset_s,key\n${Array.from({ length: 10 }, (_, index) => `${index / 10},a`).join('\n')}\n`,
)

function file(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

describe('simulate', () => {
  let out: string
  beforeEach(() => {
    out = join(folder, 'out.csv')
  })
  afterEach(() => rmSync(out, { force: true }))

  it('answers in JSON', async () => {
    const { code, stdout } = await run('simulate', '-a', arrivals, '-l', '5, 2/s', '--json')
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      arrivals: 10,
      accepted: 7,
      rejected: 3,
      rejections: { full: 3, 'too-costly': 0 },
      keys: 1,
      waitMs: { p50: 1_200, max: 2_400 },
      fullestBucket: { key: 'a', waiting: 5, capacity: 5, atS: 0.6 },
    })
  })

  it('compares policies in a table, in JSON and in a picture', async () => {
    const svg = join(folder, 'compared.svg')
    const table = await run('simulate', '-a', arrivals, '-l', '5, 2/s', '--compare', '--svg', svg)
    expect(table.stdout).toMatch(/leaky bucket as a meter +6 +4 +6 +0\.200/)
    expect(table.stdout).toMatch(/velvet-rope +7 +3 +2 +1\.000/)
    expect(readFileSync(svg, 'utf8')).toContain('sliding window (10)')
    const json = await run(
      'simulate',
      '-a',
      arrivals,
      '-l',
      '5, 2/s',
      '--compare',
      '--sub-buckets',
      '4',
      '--json',
    )
    const { compared } = JSON.parse(json.stdout)
    expect(compared.map(({ policy }: { policy: string }) => policy)).toContain('sliding window (4)')
  })

  it('says which parts of a limit only velvet-rope counts, in a table, in JSON and in a picture', async () => {
    const svg = join(folder, 'parts.svg')
    const limit = '5, 9/s, 4/minute, 9 per day in UTC, 1 at once'
    const flags = ['simulate', '-a', arrivals, '-l', limit, '--compare', '--handler-ms', '900']
    const table = await run(...flags, '--svg', svg)
    const left = 'Only velvet-rope counts 9 per day in UTC and 1 at once.'
    expect(table.stdout).toContain(`\n${left}\n`)
    expect(readFileSync(svg, 'utf8')).toContain(left)
    const summary = JSON.parse((await run(...flags, '--json')).stdout)
    expect(summary).toMatchObject({ leftOut: ['9 per day in UTC', '1 at once'] })
    expect(summary.compared.at(-1)).toMatchObject({ accepted: summary.accepted })
    expect(summary.compared[0]).toMatchObject({ policy: 'fixed window', accepted: 4 })
    const plain = await run('simulate', '-a', arrivals, '-l', '5, 2/s, 4/minute', '--compare')
    expect(plain.stdout).not.toContain('Only velvet-rope')
  })

  it('takes limits by pattern from a file, and --limit for the rest', async () => {
    const mixed = file('mixed.csv', 'offset_s,key\n0,vip/a\n0,b\n0,vip/a\n0,b\n')
    const limits = file('limits.json', '{ "vip/*": "1, 1/m" }')
    const { stdout } = await run('simulate', '-a', mixed, '--limits', limits, '-l', '1, 1/s', '--json')
    expect(JSON.parse(stdout)).toMatchObject({ accepted: 4, waitMs: { p50: 0, max: 60_000 } })
    const without = await run('simulate', '-a', mixed, '--limits', limits)
    expect(without).toMatchObject({ code: 2 })
    expect(without.stderr).toContain('no limit applies to the key "b"')
  })

  it('makes arrivals up, the same for the same seed, and can keep to one key', async () => {
    const flags = [
      'simulate',
      '--pattern',
      'poisson',
      '--keys',
      '3',
      '--seconds',
      '20',
      '-l',
      '9, 2/s',
      '--json',
    ]
    const [first, second, other] = [
      await run(...flags),
      await run(...flags),
      await run(...flags, '--seed', '2'),
    ]
    expect(first.stdout).toBe(second.stdout)
    expect(first.stdout).not.toBe(other.stdout)
    expect(JSON.parse((await run(...flags, '--key', 'key-2')).stdout).keys).toBe(1)
  })

  it('can keep to a stretch of time', async () => {
    const flags = ['simulate', '-a', arrivals, '-l', '5, 2/s', '--json']
    const { stdout } = await run(...flags, '--from', '0.2', '--to', '.5')
    expect(JSON.parse(stdout)).toMatchObject({ arrivals: 3, firstArrivalS: 0.2, lastArrivalS: 0.4 })
    expect((await run(...flags, '--from', '-1')).code).toBe(2)
  })

  it('leaves an earlier output alone when the input breaks half way', async () => {
    const broken = file('broken.csv', 'offset_s,key\n0,a\n1;b\n')
    writeFileSync(out, 'precious')
    const { code, stdout, stderr } = await run('simulate', '-a', broken, '-l', '5, 2/s', '--out', out)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toBe(`velvet-rope: ${broken}:3:4: expected a value for key, got the end of the line\n`)
    expect(readFileSync(out, 'utf8')).toBe('precious')
    expect(readdirSync(folder).filter((name) => name.endsWith('.partial'))).toEqual([])
  })

  it.each([
    [['-l', '5, 2/s'], 'expected --arrivals <file>, or --pattern'],
    [['-a', arrivals], "expected --limit '<capacity>, <rate>'"],
    [['-a', arrivals, '-l', '10'], 'got: "10"'],
    [['-a', arrivals, '-l', '0, 1/s'], 'expected the capacity to be a whole number from 1'],
    [['-a', arrivals, '--pattern', 'burst', '-l', '1, 1/s'], 'cannot be used with option'],
    [['--pattern', 'brust', '-l', '1, 1/s'], 'Allowed choices are steady, burst, poisson, on-off'],
    [['--pattern', 'burst', '--rate', 'x', '-l', '1, 1/s'], 'Expected a number above 0'],
    [['--pattern', 'burst', '--keys', '0', '-l', '1, 1/s'], 'Expected a whole number from 1'],
    [['--patern', 'burst'], 'Did you mean --pattern?'],
    [['-a', 'missing.csv', '-l', '1, 1/s'], 'cannot read missing.csv: no such file or folder'],
    [['-a', folder, '-l', '1, 1/s'], 'it is a folder'],
    [['-a', arrivals, '-l', '1, 1/s', '--out', join(folder, 'no', 'out.csv')], 'cannot write'],
    [['-a', arrivals, '-l', '1, 1/s', '--svg', join(folder, 'no', 'out.svg')], 'cannot write'],
    [
      ['-a', arrivals, '--limits', file('bad.json', '{\n "a": "1, 1/s",\n "b": "1"\n}')],
      'bad.json:3:2: limit "b"',
    ],
    [['-a', arrivals, '--limits', file('torn.json', '{ "a": ')], 'torn.json:1:8: expected limits as JSON'],
    [['-a', arrivals, '--limits', file('list.json', '[]')], 'list.json:1:1: expected limits as JSON'],
    [['-a', arrivals, '--limits', file('proto.json', '{"__proto__": "1, 1/s"}')], 'no segment __proto__'],
  ])('refuses %j', async (flags, message) => {
    const { code, stdout, stderr } = await run('simulate', ...flags)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(message)
    expect(stderr).not.toContain('    at ')
  })
})

describe('verify', () => {
  it('answers in JSON and exits with 1 when a law is broken', async () => {
    const departures = file('departures.csv', 'key,departs_s\na,0\na,0.5\n')
    const { code, stdout } = await run('verify', departures, '--limit', '5, 1/s', '--json')
    expect(code).toBe(1)
    expect(JSON.parse(stdout)).toMatchObject({
      rows: 2,
      keys: 1,
      judged: ['L2'],
      breaches: [{ law: 'L2', key: 'a', row: 'line 3', atS: 0.5 }],
    })
  })

  it('shows each breach with its numbers, and says what it could not judge', async () => {
    const departures = file('departures.csv', 'key,departs_s\na,0\na,0.5\n')
    const { code, stdout, stderr } = await run('verify', departures, '--limit', '5, 1/s')
    expect(code).toBe(1)
    expect(stdout).toMatch(
      /^L2 {2}key "a": .*500\.000 ms.*\nbroken: 1 breach in 2 rows of 1 key, checked for L2\n$/,
    )
    expect(stderr).toBe('the file has no columns offset_s and verdict: L1, L3, L4 and L5 are not checked\n')
  })

  it('checks quotas and places where the file names costs and ends', async () => {
    const text = 'key,departs_s,tokens,ends_s\na,0,60,9\na,1,41,9\n'
    const departures = file('departures.csv', text)
    const limit = '5, 1/s, 100 tokens/minute 1 each, 1 at once'
    const { code, stdout } = await run('verify', departures, '--limit', limit)
    expect(code).toBe(1)
    expect(stdout).toMatch(
      /^L10 {2}key "a": the start of job "line 3" .* made 101 tokens start within 60000\.000 ms/m,
    )
    expect(stdout).toMatch(/^L11 {2}key "a": .* made 2 attempts run at once, expected at most 1$/m)
    expect(stdout).toMatch(/^broken: 2 breaches in 2 rows of 1 key, checked for L2, L10, L11$/m)
    const plain = file('plain.csv', 'key,departs_s\na,0\na,1\n')
    const unsaid = await run('verify', plain, '--limit', limit, '--json')
    expect(JSON.parse(unsaid.stdout)).toMatchObject({
      judged: ['L2', 'L10'],
      unknown: [
        'the file has no columns offset_s and verdict: L1, L3, L4 and L5 are not checked',
        'no row has ends_s: places (L11) are not checked',
        'no row has tokens: each job counts as many as its limit says',
      ],
      breaches: [],
    })
  })
})

describe('usage', () => {
  it('shows help, and suggests a command', async () => {
    expect((await run('--help')).stdout).toContain('simulate')
    expect((await run('--help')).code).toBe(0)
    expect(await run('simulat')).toMatchObject({ code: 2, stderr: expect.stringContaining('simulate') })
    expect((await run()).code).toBe(2)
  })

  it.each([
    [['limits', 'set'], /^Usage: velvet-rope limits set [\s\S]*--if-version/],
    [['limits'], /^Usage: velvet-rope limits [\s\S]*velvet-rope limits list/],
    [['serve', 'all'], /^Usage: velvet-rope serve /],
    [[], /^Usage: velvet-rope \[options\]/],
  ])('help %j describes that command', async (names, text) => {
    const asked = await run('help', ...names)
    expect(asked).toEqual({ code: 0, stdout: expect.stringMatching(text), stderr: '' })
  })

  it.each([
    [['freez'], "unknown command 'freez'\n(Did you mean freeze?)"],
    [['limits', 'sett'], "unknown command 'sett'\n(Did you mean set?)"],
  ])('help %j suggests a command', async (names, text) => {
    const asked = await run('help', ...names)
    expect(asked).toEqual({ code: 2, stdout: '', stderr: expect.stringContaining(text) })
  })
})

describe('files that are named twice', () => {
  it.each([
    ['--arrivals and --out', () => ['-a', arrivals, '--out', arrivals]],
    ['--out and --svg', () => ['-a', arrivals, '--out', join(folder, 'x'), '--svg', `${folder}/./x`]],
  ])('%s are refused, and nothing is written', async (_, flags) => {
    const before = [readFileSync(arrivals, 'utf8'), readdirSync(folder).sort()]
    const { code, stderr } = await run('simulate', '-l', '5, 2/s', ...flags())
    expect(code).toBe(2)
    expect(stderr).toContain('to be two files')
    expect([readFileSync(arrivals, 'utf8'), readdirSync(folder).sort()]).toEqual(before)
  })
})
