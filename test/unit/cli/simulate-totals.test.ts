import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { run } from './run-program.ts'

const folder = mkdtempSync(join(tmpdir(), 'velvet-rope-totals-'))
afterAll(() => rmSync(folder, { recursive: true }))

function file(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

function limits(rules: Record<string, string>): string {
  return file('limits.json', JSON.stringify(rules))
}

/** Ten of one child, and one of another, at once; under one per second. */
const arrivals = file('family.csv', `offset_s,key\n${'0,a/1\n'.repeat(10)}0,a/2\n`)
const FAMILY = { '*': '50, 5/s', 'a/2': '50, 5/s, weight 2', 'a/': '100, 1/s' }

describe('simulate under totals', () => {
  it('says of each total what it used, and of each child what it got', async () => {
    const { code, stdout, stderr } = await run('simulate', arrivals, '--limits', limits(FAMILY))
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain(`
total          a/  100, 1/s
its pace       100.0 % used while jobs waited
most waiting   10 of 100
refused by it  0
longest wait   10 s

child  weight  accepted  rejected    share  wait p50  wait p99  longest
─────  ──────  ────────  ────────  ───────  ────────  ────────  ───────
a/1         1        10         0   90.9 %       5 s      10 s     10 s
a/2         2         1         0  100.0 %       1 s       1 s      1 s

share: what a child got of what the family got while jobs of the child waited.
`)
  })

  it('compares with one line for the family, in text and in JSON', async () => {
    const flags = ['simulate', arrivals, '--limits', limits(FAMILY), '--compare', 'fifo']
    const { stdout, stderr } = await run(...flags)
    expect(stderr).toBe('')
    expect(stdout).toContain(`
total     a/  100, 1/s
one line  100.0 % used while jobs waited
shared    100.0 % used while jobs waited

child            accepted  rejected    share  wait p50  wait p99  longest
─────  ────────  ────────  ────────  ───────  ────────  ────────  ───────
a/1    one line        10         0  100.0 %       4 s       9 s      9 s
       shared          10         0   90.9 %       5 s      10 s     10 s
a/2    one line         1         0   10.0 %      10 s      10 s     10 s
       shared           1         0  100.0 %       1 s       1 s      1 s

one line: first come`)
    const { oneLine, totals } = JSON.parse((await run(...flags, '--json')).stdout)
    expect(oneLine).toMatchObject([{ path: 'a/', children: [{ child: 'a/1' }, { waitMs: { max: 10_000 } }] }])
    expect(totals).toMatchObject([{ utilisation: 1, children: [{ weight: 1 }, { waitMs: { max: 1_000 } }] }])
  })

  it('shows others in one row, and says how many totals it leaves out', async () => {
    const many = ['simulate', '--pattern', 'steady', '--keys', '12', '--seconds', '60']
    const ofOne = await run(...many, '--prefix', 'a/', '--limits', limits(FAMILY), '--compare', 'fifo')
    expect(ofOne.stdout).toMatch(/^2 others, share of each +one line +26 +74 +10\.0 % {2}/m)
    const plain = await run(...many, '--prefix', 'a/', '--limits', limits(FAMILY))
    expect(plain.stdout).toMatch(/^2 others +28 +72 +each 9\.0 % {2}/m)
    const each = await run(...many, '--limits', limits({ '*': '9, 9/s', '*/': '9, 9/s' }))
    expect(each.stdout).toContain('\n2 totals with fewer arrivals are not shown.\n')
    expect(each.stdout).toContain('\nits pace       no job had to wait\n')
  })

  it('writes each arrival with its departure, in the order of arrival, for verify', async () => {
    const out = join(folder, 'departures.csv')
    const rules = limits({ ...FAMILY, 'a/': '9, 1/s, 2 at once' })
    await run('simulate', arrivals, '--limits', rules, '--out', out, '--handler-ms', '10')
    const rows = readFileSync(out, 'utf8').trimEnd().split('\n')
    expect(rows).toHaveLength(12)
    expect(rows[2]).toBe('0.000000,a/1,1,accepted,1,2.000000,2.000000,,2.010000')
    expect(rows[11]).toMatch(/^0\.000000,a\/2,1,accepted,1,1\.000000,/)
    expect(rows.filter((row) => row.includes(',rejected,'))).toHaveLength(1)
    const { code, stdout, stderr } = await run('verify', out, '--limits', rules)
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: 'ok: 11 rows of 2 keys keep L1, L2, L4, L5, L11, L12\n',
    })
    expect(stderr).toBe(
      'a total may refuse jobs and slow keys down: refusals and the rate (L3) of keys below are not checked\n',
    )
  })

  it('judges the rate of keys that are below no total', async () => {
    const rows = [0, 9, 18].map((departs) => `0,b,accepted,${departs},\n`).join('')
    const slow = file('slow.csv', `offset_s,key,verdict,departs_s,retry_after_s\n${rows}`)
    const { code, stdout } = await run('verify', slow, '--limits', limits(FAMILY))
    expect(code).toBe(1)
    expect(stdout).toMatch(/^L3 {2}key "b"/m)
  })

  it('compares other policies by the limits of keys, and says so', async () => {
    const rules = limits(FAMILY)
    const { code, stdout, stderr } = await run('simulate', '--limits', rules, '--compare', arrivals)
    expect(code).toBe(0)
    expect(stdout).toMatch(/^velvet-rope +a line of at most 50, departing one by one at 5\/s$/m)
    expect(stderr).toBe(
      'the policies of --compare take each key by itself, as if there were no "a/"; --compare fifo compares totals\n',
    )
  })

  it('counts totals in both rule books of --against', async () => {
    const rules = limits(FAMILY)
    const { stdout, stderr } = await run('simulate', arrivals, '-l', '50, 5/s', '--against', rules, '--json')
    expect(stderr).toBe('')
    const { totals, waitMs, against } = JSON.parse(stdout)
    expect(totals).toBeUndefined()
    expect(waitMs.max).toBe(1_800)
    expect(against).toMatchObject({ waitMs: { max: 10_000 }, totals: [{ path: 'a/' }] })
    const both = ['simulate', arrivals, '--limits', rules, '--against']
    const shown = (await run(...both, '50, 5/s')).stdout
    expect(shown).toMatch(/^wait, longest +10 s +1\.8 s +/m)
    expect(shown).toMatch(/\n\nunder \S+limits\.json\n\ntotal +a\/ +100, 1\/s\n/)
    expect(shown).toMatch(/^a\/1 +1 +10 +0 +90\.9 %/m)
    expect(shown).toContain('\n\nshare: what a child got of ')
    expect(shown).not.toContain('\nunder 50, 5/s\n')
    const other = file('other.json', JSON.stringify({ ...FAMILY, 'a/': '100, 2/s' }))
    const two = (await run(...both, other)).stdout
    expect(two.match(/^under \S+\.json$/gm)).toHaveLength(2)
    expect(two.match(/^share: /gm)).toHaveLength(1)
  })

  it.each([
    [
      [arrivals, '-l', '9, 1/s', '--compare', 'fifo'],
      "expected limits with a total, such as 'stripe/', got: none",
    ],
    [
      ['--pattern', 'flood', '-l', '9, 1/s', '--prefix', 'a/../'],
      'expected the keys that --prefix and --keys make to have no segment . or .., which no URL can name, got: "a/../key-1"',
    ],
    [
      ['--pattern', 'flood', '-l', '9, 1/s', '--prefix', `${'a'.repeat(250)}/`, '--keys', '1000'],
      'to be 1 to 256 bytes, got: 259 in ',
    ],
    [
      [arrivals, '-l', '9, 1/s', '--compare', 'lifo'],
      'expected --compare alone or --compare fifo, got: "lifo"',
    ],
    [
      ['-a', arrivals, '-l', '9, 1/s', '--compare', arrivals],
      'expected either a file of arrivals or --arrivals, got: both',
    ],
  ])('refuses %j', async (flags, message) => {
    const { code, stderr } = await run('simulate', ...flags)
    expect(code).toBe(2)
    expect(stderr).toContain(message)
  })
})
