import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { built } from '../support/built.ts'
import { launch } from '../support/launch.ts'

const folder = mkdtempSync(join(tmpdir(), 'velvet-rope-cli-'))
afterAll(() => rmSync(folder, { recursive: true }))

const ARRIVALS = `offset_s,key\n${Array.from({ length: 10 }, (_, index) => `${index / 10},a`).join('\n')}\n`

describe('the real program', () => {
  it('simulates standard input and verifies what it wrote', async () => {
    const out = join(folder, 'piped.csv')
    const simulated = await launch(
      ['simulate', '--arrivals', '-', '--limit', '5, 2/s', '--out', out],
      ARRIVALS,
    ).ended
    // On a busy machine it says how far it has come.
    expect(simulated).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/^(\d+ arrivals \(\d+ s\)\n)*$/),
    })
    expect(simulated.stdout).toContain('rejected        3  30.0 %')
    expect(simulated.stdout).not.toContain('\u001b')
    expect(readFileSync(out, 'utf8').split('\n')[8]).toBe('0.700000,a,1,rejected,,,,0.300000')

    const verified = await launch(['verify', '-', '--limit', '5, 2/s'], readFileSync(out, 'utf8')).ended
    expect(verified).toEqual({
      code: 0,
      stderr: '',
      stdout: 'ok: 10 rows of 1 key keep L1, L2, L3, L4, L5\n',
    })
  })

  it('knows its version', async () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
    expect(await launch(['--version']).ended).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' })
  })

  it('keeps quiet when its output is closed', async () => {
    const departures = Array.from({ length: 20_000 }, () => 'a,0').join('\n')
    const child = spawn(process.execPath, [built('src/cli/main.ts'), 'verify', '-', '--limit', '1, 1/s'])
    let stderr = ''
    child.stderr.on('data', (chunk) => (stderr += chunk))
    child.stdout.once('data', () => child.stdout.destroy())
    child.stdin.end(`key,departs_s\n${departures}\n`)
    const code = await new Promise((resolve) => child.on('close', resolve))
    expect(stderr).not.toContain('EPIPE')
    expect(code).toBe(1)
  })
})
