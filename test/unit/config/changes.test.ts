import { describe, expect, it } from 'vitest'
import { changesBetween, renderChanges } from '../../../src/config/changes.ts'
import { load } from './config-folder.ts'

const token = (name: string, byte: string, scopes = 'read') =>
  `{name: ${name}, sha256: ${byte.repeat(64)}, scopes: [${scopes}]}`

async function changes(before: string, after: string): Promise<string[]> {
  return renderChanges(changesBetween(await load(before), await load(after)))
}

describe('what differs', () => {
  it('is empty if only the text of the file differs', async () => {
    const before = "limits: {a: '5, 1/s'}\nwork: {concurrency: 5}\n"
    const after =
      '# the same\nwork:\n  concurrency: 5\nlimits:\n  a:\n    capacity: 5\n    rate: 1 per second\n'
    expect(await changes(before, after)).toEqual([])
  })

  it('is reported by path, with old and new value', async () => {
    const before = 'limits:\n  a: 5, 1/s\n  b: 5, 1/s\n  c/d: 5, 1/s\nlog: {level: info}\n'
    const after = 'limits:\n  a: 6, 1/s\n  b: 5, 1/s\n  "*": 7, 1/s\nlog: {level: debug}\n'
    expect(await changes(before, after)).toEqual([
      'limits.a: 5, 1/s -> 6, 1/s',
      'limits["*"]: 7, 1/s (new)',
      'log.level: info -> debug',
      'limits["c/d"]: 5, 1/s (removed)',
    ])
  })

  it('marks settings that take effect at the next start', async () => {
    const after = 'listen: 127.0.0.1:1\nname: b\nwork: {concurrency: 5}\nhttp: {maxBatch: 5}\ndrainMs: 5\n'
    const lines = await changes('name: a\n', after)
    expect(lines).toHaveLength(5)
    expect(lines.every((line) => line.endsWith(' (takes effect at the next start)'))).toBe(true)
    expect(lines[0]).toBe('listen: 127.0.0.1:7077 -> 127.0.0.1:1 (takes effect at the next start)')
  })

  it('shows that a secret changed without showing it', async () => {
    const text = (n: number) =>
      `redis: redis://me:hunter${n}@cache
tokens: [${token('shop', 'xab'[n]!)}]
forward: {allow: [https://a.example], headers: {https://a.example: {X-Key: 'hunter${n}'}}}
`
    const lines = await changes(text(1), text(2))
    expect(lines).toEqual([
      'redis: redis://***@cache -> redis://***@cache (changed) (takes effect at the next start)',
      'forward.headers["https://a.example"].X-Key: *** -> *** (changed)',
      'tokens.shop.sha256: *** -> *** (changed)',
    ])
  })

  it('identifies a token by its client, wherever it is in the list', async () => {
    const before = `tokens: [${token('a', 'a')}, ${token('b', 'b')}, ${token('b', 'c')}]\n`
    expect(await changes(before, `tokens: [${token('b', 'b')}, ${token('a', 'a', 'admin')}]\n`)).toEqual([
      'tokens.a.scopes: read -> admin',
      'tokens["b (2)"].sha256: *** (removed)',
      'tokens["b (2)"].scopes: read (removed)',
      'tokens["b (2)"].prefixes: none (removed)',
    ])
  })

  it('is one log line per change, whatever the file contains', async () => {
    const [line] = await changes(
      "forward: {allow: ['https://a.example']}\n",
      `forward: {allow: [${Array.from({ length: 50 }, (_, n) => `https://host-${n}.example`).join(', ')}]}\n`,
    )
    expect(line!.length).toBeLessThan(200)
    expect(line).toMatch(/^forward\.allow: https:\/\/a\.example -> "https:.*\.\.\."$/)
  })
})
