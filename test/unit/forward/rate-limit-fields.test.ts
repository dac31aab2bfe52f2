import { describe, expect, it } from 'vitest'
import { readStayAway } from '../../../src/forward/retry-after.ts'

const NOW = Date.UTC(2026, 0, 1)
const read = (headers: Record<string, string>) => readStayAway((name) => headers[name], NOW)

describe('a response that asks to retry later', () => {
  it.each<[Record<string, string>, number]>([
    [{ 'retry-after': '7' }, 7_000],
    [{ ratelimit: '"default";r=0;t=30' }, 30_000],
    [{ ratelimit: '"hourly";r=0;t=90, "daily";r=0;t=4000, "burst";r=5;t=9000' }, 4_000_000],
    [{ ratelimit: '"a, \\";r=5;t=99\\"";t=12; r=0' }, 12_000],
    [{ ratelimit: '"a";r=5;t=1;r=0;t=30' }, 30_000],
    [{ ratelimit: '"a";r=-0;t=30' }, 30_000],
    [{ ratelimit: '"a";r=0;t=30;pk=:YWNtZQ==:' }, 30_000],
    [{ ratelimit: '"a";r=0;t=?1, "b";r=0;t=4' }, 4_000],
    [{ 'ratelimit-reset': '15' }, 15_000],
    [{ 'ratelimit-remaining': '0', 'ratelimit-reset': '15' }, 15_000],
    [{ 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '1.5' }, 1_500],
    [{ 'x-ratelimit-reset': String(NOW / 1_000 + 20) }, 20_000],
    [{ 'x-ratelimit-reset': String(NOW + 250) }, 250],
    [{ 'x-rate-limit-remaining': '0', 'x-rate-limit-reset': String(NOW / 1_000 + 9) }, 9_000],
  ])('says in %j for how long', (headers, expected) => {
    expect(read(headers)).toBe(expected)
  })

  it.each<Record<string, string>>([
    {},
    { ratelimit: '' },
    { ratelimit: '"default";r=3;t=30' },
    { ratelimit: '"default";r=0' },
    { ratelimit: '"default";r=0;t=0' },
    { ratelimit: '"default";r=0;t=-5' },
    { ratelimit: '"default";r=0;t=-0' },
    { ratelimit: '"a";r=0;t=30;r=5' },
    { ratelimit: '"a";r=0;t=30, "b";r=' },
    { ratelimit: '"a";r=0;t=30,' },
    { ratelimit: '"a";r=0;t=30 ;x' },
    { ratelimit: '"a";R=0;t=30' },
    { ratelimit: '"a";r=0;t=1234567890123456' },
    { ratelimit: '("a" "b");r="0";t=30' },
    { ratelimit: 'limit=10, remaining=0, reset=50' },
    { 'ratelimit-remaining': '4', 'ratelimit-reset': '15' },
    { 'x-ratelimit-reset': 'soon' },
    { 'x-ratelimit-reset': String(NOW / 1_000 - 20) },
    { 'x-ratelimit-reset': '99999999999999' },
  ])('does not say so in %j', (headers) => {
    expect(read(headers)).toBeUndefined()
  })

  it('reads 1,024 characters of RateLimit at most, and nothing of a longer one', () => {
    const field = (length: number) => `"${'a'.repeat(length - '"";r=0;t=30'.length)}";r=0;t=30`
    expect(field(1_024)).toHaveLength(1_024)
    expect(read({ ratelimit: field(1_024) })).toBe(30_000)
    expect(read({ ratelimit: field(1_025) })).toBeUndefined()
    // What comes first is within the bound, and still half of a list.
    expect(read({ ratelimit: `"a";r=0;t=30${', 1'.repeat(5_000)}` })).toBeUndefined()
    expect(read({ ratelimit: field(16_384), 'ratelimit-reset': '15' })).toBe(15_000)
  })

  it('uses Retry-After first, and the clock of the third party if known', () => {
    expect(read({ 'retry-after': '2', ratelimit: '"default";r=0;t=30' })).toBe(2_000)
    expect(read({ 'retry-after': '0', ratelimit: '"default";r=0;t=30' })).toBe(30_000)
    const date = new Date(NOW + 5_000).toUTCString()
    expect(read({ date, 'x-ratelimit-reset': String(NOW / 1_000 + 20) })).toBe(15_000)
  })
})
