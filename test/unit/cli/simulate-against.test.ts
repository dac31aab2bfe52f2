import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { run } from './run-program.ts'

const folder = mkdtempSync(join(tmpdir(), 'velvet-rope-against-'))
afterAll(() => rmSync(folder, { recursive: true }))

function file(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

/** Ten simultaneous jobs for each of two keys. */
const arrivals = file(
  'arrivals.csv',
  `offset_s,key\n${Array.from({ length: 20 }, (_, n) => `1795280708.055123,${n % 2 ? 'vip' : 'a'}\n`).join('')}`,
)
const today = file('today.json', '{ "*": "4, 1/s" }')
const tomorrow = file('tomorrow.json', '{ "*": "4, 2/s", "vip": "9, 10/s" }')

describe('simulate --against', () => {
  it('shows two rule books side by side', async () => {
    const { code, stdout } = await run('simulate', arrivals, '--limits', today, '--against', tomorrow)
    expect(code).toBe(0)
    expect(stdout).toMatch(/^arrivals: 20 of 2 keys in 0 s\n/)
    expect(stdout).toMatch(/^ +\S+today\.json +\S+tomorrow\.json +difference$/m)
    expect(stdout).toMatch(/^accepted +10 +15 +\+5$/m)
    expect(stdout).toMatch(/^rejected +10 +5 +-5$/m)
    expect(stdout).toMatch(/^rejected, share +50\.0 % +25\.0 %$/m)
    expect(stdout).toMatch(/^wait, longest +4 s +2 s +-2 s$/m)
    expect(stdout).toMatch(/^fullest bucket +100\.0 % +100\.0 %$/m)
  })

  it('takes a limit of every key as well, and says where nothing changes', async () => {
    const { stdout } = await run('simulate', arrivals, '-l', '4, 1/s', '--against', '4, 1/s')
    expect(stdout).toMatch(/^ +4, 1\/s +4, 1\/s +difference$/m)
    expect(stdout).toMatch(/^accepted +10 +10 +=$/m)
    expect(stdout).toMatch(/^wait, p99 +4 s +4 s +=$/m)
  })

  it('reads the limits of a configuration, and says where one is wrong', async () => {
    const config = file(
      'velvet-rope.yaml',
      "redis: redis://nowhere\nlimits:\n  '*': 4, 2/s\n  vip: 9, 10/s\n",
    )
    const { stdout } = await run('simulate', arrivals, '--limits', today, '--against', config, '--json')
    expect(JSON.parse(stdout)).toMatchObject({ accepted: 10, against: { accepted: 15, rejected: 5 } })
    const broken = file('broken.yaml', "limits:\n  '*': 4, quickly\n")
    const refused = await run('simulate', arrivals, '--limits', today, '--against', broken)
    expect(refused).toMatchObject({ code: 2, stdout: '' })
    expect(refused.stderr).toContain('broken.yaml:2:8')
  })

  it('answers both in JSON', async () => {
    const { stdout } = await run('simulate', arrivals, '--limits', today, '--against', tomorrow, '--json')
    expect(JSON.parse(stdout)).toMatchObject({
      accepted: 10,
      rejected: 10,
      against: { accepted: 15, rejected: 5, waitMs: { max: 2_000 } },
    })
  })

  it('counts the units of both rule books, and says what held jobs back under each', async () => {
    const rows = Array.from({ length: 9 }, (_, n) => `${n},a,${n === 0 ? 90 : 1}\n`)
    const tokens = file('tokens.csv', `offset_s,key,tokens\n${rows.join('')}`)
    const limit = '9, 2/s, 95 tokens/minute 50 each, 1 at once'
    const { stdout, stderr } = await run('simulate', tokens, '-l', '9, 2/s', '--against', limit)
    // Five fit beside the first.
    expect(stdout).toMatch(/^wait, longest +0 s +55 s +\+55 s$/m)
    expect(stdout).toMatch(/^held by 95 tokens\/minute +- +55 s *$/m)
    expect(stdout).not.toContain('held by pace')
    expect(stderr).toContain('say with --handler-ms how long handlers take')
    const back = await run('simulate', tokens, '-l', limit, '--against', limit, '--handler-ms', '700')
    expect(back.stdout).toMatch(/^held by 95 tokens\/minute +55 s +55 s *$/m)
    expect(back.stderr).toBe('')
    const unnamed = await run('simulate', arrivals, '-l', '4, 1/s', '--against', '4, 1/s, 9 tokens/s 1 each')
    expect(unnamed.stderr).toBe('no arrival has tokens: each job counts as many as its limit says\n')
  })

  it.each([
    [
      [arrivals, '-l', '4, 1/s', '--against', 'missing.json'],
      'cannot read missing.json: no such file or folder',
    ],
    [[arrivals, '-l', '4, 1/s', '--against', '5'], 'cannot read 5: no such file or folder'],
    [[arrivals, '-l', '4, 1/s', '--against', '4, 2/s', '--compare'], 'cannot be used with option'],
    [
      [arrivals, '-a', arrivals, '-l', '4, 1/s'],
      'expected either a file of arrivals or --arrivals, got: both',
    ],
    [[arrivals, '--pattern', 'burst', '-l', '4, 1/s'], 'expected either a file of arrivals or --pattern'],
  ])('refuses %j', async (flags, message) => {
    const { code, stdout, stderr } = await run('simulate', ...flags)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(message)
  })
})

describe('simulate', () => {
  it('shows moments since the epoch, as a service records them, as date and time', async () => {
    const { stdout } = await run('simulate', arrivals, '-l', '4, 1/s')
    expect(stdout).toMatch(/fullest bucket +\S+: 4 of 4 waiting at 2026-11-21T17:05:08\.055Z/)
    expect(stdout).not.toContain('days')
  })
})
