import { expect, it } from 'vitest'
import { load, refusal } from './config-folder.ts'

it('a file sets limits of several parts, as text and as objects', async () => {
  const { limits } = await load(
    [
      'limits:',
      '  openai: 200, 500/minute, 90000 tokens/minute 1200 each, 10000/day',
      '  github:',
      '    capacity: 100',
      '    rate: 5/s',
      "    quotas: ['900/minute', { amount: 5000, per: hour }]",
      '    concurrency: 100',
    ].join('\n'),
  )
  expect(limits).toEqual({
    openai: '200, 500/m, 90000 tokens/minute 1200 each, 10000/day',
    github: '100, 5/s, 900/minute, 5000/hour, 100 at once',
  })
})

it('a file says where answers name what a call counted', async () => {
  const forward = (path: string) =>
    `forward: { allow: ['https://api.openai.com'], settle: { tokens: '${path}' } }\n`
  expect((await load(forward('usage.total_tokens'))).forward?.settle).toEqual({
    tokens: 'usage.total_tokens',
  })
  expect(await refusal(load(forward('$.usage')))).toEqual([
    expect.stringMatching(/^velvet-rope\.yaml:1:\d+: expected forward\.settle\.tokens to be names of fields/),
  ])
  const byHeader = (header: string) =>
    `forward: { allow: ['https://api.openai.com'], settle: { tokens: { header: ${header} } } }\n`
  expect((await load(byHeader('X-Tokens-Used'))).forward?.settle).toEqual({
    tokens: { header: 'x-tokens-used' },
  })
  expect(await refusal(load(byHeader('12')))).toEqual([
    expect.stringMatching(
      /expected forward\.settle\.tokens.* or a header, such as \{ header: x-tokens-used \}/,
    ),
  ])
  const named = (name: string) =>
    `forward: { allow: ['https://api.openai.com'], settle: { ${name}: usage.total_tokens } }\n`
  for (const name of ['constructor', 'a b']) {
    const expected = 'expected each name in forward.settle to be a name of 1 to 32 letters'
    expect(await refusal(load(named(name)))).toEqual([
      expect.stringMatching(new RegExp(`${expected}.*, got: "${name}"$`)),
    ])
  }
})
