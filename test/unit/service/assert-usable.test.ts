import { describe, expect, test } from 'vitest'
import { assertForwardable, assertUsable } from '../../../src/service/assert-usable.ts'
import { load, loadNothing } from '../config/config-folder.ts'

const SERVER = { api: true, forwards: false, listens: true }
const LIMITS = "limits: { '*': '9, 1/s' }"
const TOKENS = `tokens: [{ name: a, sha256: ${'a'.repeat(64)}, scopes: [admin] }]`

function faultsOf(call: () => void): string {
  try {
    call()
  } catch (error) {
    return (error as Error).message
  }
  throw new Error('expected a fault')
}

describe('a configuration that a server cannot use', () => {
  test('has no limits, if no other process could set any', async () => {
    const config = await loadNothing({})
    expect(faultsOf(() => assertUsable(config, SERVER))).toBe(
      "configuration: expected limits, without which every key is rejected, such as limits: { '*': '100, 10/s' } or " +
        "--limit '100, 10/s', got: none",
    )
    const empty = await load('name: shop\nlimits: {}\n')
    expect(faultsOf(() => assertUsable(empty, SERVER))).toMatch(/velvet-rope\.yaml:2:9: expected limits/)
    const shared = await load('redis: redis://127.0.0.1:1\n')
    expect(() => assertUsable(shared, SERVER)).not.toThrow()
  })

  test('lets other machines reach it without a token, and its place is named', async () => {
    const config = await load(`${LIMITS}\nlisten: 0.0.0.0:7077\n`)
    const fault = faultsOf(() => assertUsable(config, SERVER))
    expect(fault).toMatch(/velvet-rope\.yaml:2:9: expected listen to be localhost, 127\.0\.0\.1 or ::1/)
    expect(fault).toContain('got: "0.0.0.0"')
    expect(() => assertUsable(config, { ...SERVER, listens: false })).not.toThrow()
    const guarded = await load(`${LIMITS}\nlisten: 0.0.0.0:7077\n${TOKENS}\n`)
    expect(() => assertUsable(guarded, SERVER)).not.toThrow()
    const flag = await load(LIMITS, { flags: { listen: '0.0.0.0:1' } })
    expect(faultsOf(() => assertUsable(flag, SERVER))).toMatch(/^--listen: /)
  })

  test('refers to a missing variable, and the line is named', async () => {
    const config = await load(
      [
        LIMITS,
        'forward:',
        "  allow: ['https://a.example', 'https://b.example']",
        '  headers:',
        `    'https://a.example': { Authorization: 'Bearer \${A_KEY}' }`,
        `    'https://b.example': { Authorization: 'Bearer \${B_KEY}' }`,
        `  signing: { secret: "\${HOOK}" }`,
        '',
      ].join('\n'),
    )
    const faults = faultsOf(() => assertForwardable(config, { A_KEY: 'sesame' })).split('\n')
    expect(faults).toHaveLength(2)
    expect(faults[0]).toMatch(/velvet-rope\.yaml:6:43: .* expected the environment to have B_KEY/)
    expect(faults[1]).toMatch(/velvet-rope\.yaml:7:22: .* expected the environment to have HOOK/)
    expect(faults.join()).not.toContain('sesame')
  })
})
