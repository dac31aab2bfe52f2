import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { InvalidConfigError } from '../../../src/config/config-error.ts'
import { composeConfig } from '../../../src/config/load-config.ts'
import { load, refusal } from './config-folder.ts'

/** The place and the sentence of the only fault of a text. */
async function faultOf(text: string): Promise<string> {
  const lines = await refusal(load(text))
  expect(lines).toHaveLength(1)
  return lines[0]!.replace(/^velvet-rope\.yaml:/, '')
}

describe('a pattern that begins with * without quotes', () => {
  it.each([
    ['limits:\n  *: 5, 1/s\n', "2:3: a * begins an alias in YAML: write * in quotes, '*'"],
    ['limits:\n  */sms: 5, 1/s\n', "2:3: a * begins an alias in YAML: write */sms in quotes, '*/sms'"],
    ['limits:\n  a: 5, 1/s\n  *: 5, 1/s\n', "3:3: a * begins an alias in YAML: write * in quotes, '*'"],
    ["limits: { *: '5, 1/s' }\n", "1:11: a * begins an alias in YAML: write * in quotes, '*'"],
    ['limits:\n  &: 5, 1/s\n', "2:3: an & begins an anchor in YAML: write & in quotes, '&'"],
  ])('%j', async (text, fault) => {
    expect(await faultOf(text)).toBe(fault)
  })

  it('needs none in the middle or at the end', async () => {
    const { limits } = await load('limits:\n  a/*/b: 5, 1/s\n  a/*: 5, 1/s\n')
    expect(Object.keys(limits)).toEqual(['a/*/b', 'a/*'])
  })

  it('is reported for origins too', async () => {
    expect(await faultOf('forward:\n  allow: [*.example.com]\n')).toMatch(
      /^2:11: expected an anchor .* quotes, such as '\*\.example\.com'$/,
    )
  })
})

describe('a file that is not valid YAML', () => {
  it.each([
    [
      'limits:\n  a: 5, 1/s\n  b: 5, 1/s\n  a: 6, 1/s\n',
      '4:3: expected each name once in a mapping, got: the one of line 2 again',
    ],
    [
      'name: a\nlimits: {}\nname: b\n',
      '3:1: expected each name once in a mapping, got: the one of line 1 again',
    ],
    [
      'limits: {a: "5, 1/s", a: "5, 1/s"}\n',
      '1:23: expected each name once in a mapping, got: the one of line 1 again',
    ],
    ['limits:\n\ta: 5, 1/s\n', '2:1: expected spaces for the indentation, got: a tab'],
    ['name: a\n---\nname: b\n', '2:1: expected one document, got: another one after --- or ...'],
    ['name: a\n...\nname: b\n', '3:1: expected one document, got: another one after --- or ...'],
    ['', "1:1: expected settings by name, such as limits: { '*': '100, 10/s' }, got: an empty file"],
    ['# soon\n', "1:1: expected settings by name, such as limits: { '*': '100, 10/s' }, got: an empty file"],
    ['---\n', "1:1: expected settings by name, such as limits: { '*': '100, 10/s' }, got: an empty file"],
    ['- name: a\n', "1:1: expected settings by name, such as limits: { '*': '100, 10/s' }, got: a list"],
    ['true\n', "1:1: expected settings by name, such as limits: { '*': '100, 10/s' }, got: a single value"],
    [
      "limits:\n  '*':5, 1/s\n",
      '2:6: expected nothing after the value on its line, got: more text; put a space after the colon',
    ],
    [
      "name: 'it's'\n",
      "1:11: expected nothing after the value on its line, got: more text; within '' a ' is written as ''",
    ],
    [
      'limits:\n  a:5, 1/s\n  b: 5, 1/s\n',
      '2:3: expected a colon and a space after a name, on the same line',
    ],
    ['name: a\nprefix\n', '2:1: expected a colon and a space after a name'],
    ['limits:\n  a: 5, 1/s\n b: 5, 1/s\n', '3:1: expected it to begin in the same column as the names above'],
    [
      'forward:\n  allow:\n    - a\n   - b\n',
      '4:1: expected it to begin in the same column as the items above',
    ],
    ['name: "a\nlisten: 1\n', '1:7: expected a closing quote for the one here, got: the end of the file'],
    ["name: a\nprefix: 'b\n", '2:9: expected a closing quote for the one here, got: the end of the file'],
    ['http: {maxBatch: 1\nname: a\n', '2:1: expected a } before this line'],
    ['forward:\n  allow: [a, b\nname: a\n', '3:1: expected a ] before this line'],
    [
      'name: a: b\n',
      expect.stringMatching(/^1:7: expected one value after the name, got: a mapping; put text with a colon/),
    ],
    ['name: @a\n', '1:7: expected a value, got: one that begins with @, ` or %; put it in quotes'],
    ['name: "\\d"\n', expect.stringMatching(/^1:8: expected a known YAML escape/)],
    ['limits: !rules\n  a: 5, 1/s\n', expect.stringMatching(/^1:9: expected a plain value, got: a YAML tag/)],
    ['? [a, b]\n: 5, 1/s\n', '1:3: expected the name of a setting, got: a mapping or a list'],
    ['%YAML 1.1\n---\nname: yes\n', '1:1: expected YAML 1.2, got: %YAML of another version'],
    ['__proto__:\n  name: a\n', '1:1: no setting is named "__proto__"'],
    ['limits:\n  __proto__: 5, 1/s\n', '2:3: no setting is named "__proto__"'],
    ['a: '.repeat(20_000), expect.stringMatching(/^1:\d+: expected/)],
    [
      '['.repeat(20_000),
      expect.stringMatching(/^1:\d+: expected settings, got: something nested too deeply$/),
    ],
  ])('%.40j', async (text, fault) => {
    expect(await faultOf(text)).toEqual(fault)
  })

  it('reports one problem per line, on all lines', async () => {
    const lines = await refusal(load('limits:\n  a:5, 1/s\n  b: 5, 1/s\n  c:5, 1/s\nname: @\n'))
    expect(lines.map((line) => line.split(': ')[0])).toEqual([
      'velvet-rope.yaml:2:3',
      'velvet-rope.yaml:4:3',
      'velvet-rope.yaml:5:7',
    ])
  })

  it('reports nothing after a * that makes the parser misread the rest', async () => {
    await faultOf('limits:\n  *: 5, 1/s\n  */a: 5, 1/s\nname: @\n')
  })
})

describe('a limit within {}', () => {
  it.each([
    ["limits: {'*': 100, 10/s}\n", 20],
    ["limits: {'*': 100, 10/s, a: '5, 1/s'}\n", 20],
    ['limits: {a: }\n', 10],
    ['limits: {a: ~}\n', 10],
  ])('needs quotes: %s', async (text, column) => {
    expect(await faultOf(text)).toBe(
      `1:${column}: expected a value after this name, got: nothing; text with a comma needs quotes inside {}, such as {'*': '100, 10/s'}`,
    )
  })

  it('may be an empty text, which is a different problem', async () => {
    expect(await faultOf("limits: {a: ''}\n")).toMatch(/^1:13: limit "a": expected '<capacity>, <rate>'/)
  })
})

describe('a number', () => {
  it.each(['010', '0o17', '0x10', '-07', '00'])('is decimal, not %s', async (number) => {
    expect(await faultOf(`redis: redis://a\nshards: ${number}\n`)).toBe(
      '2:9: expected a decimal number without a leading 0, got: one with a leading 0; put it in quotes if it is text',
    )
  })

  it.each([
    ['0', 0],
    ['0.5', 0.5],
    ['1e3', 1_000],
  ])('may be %s', async (text, value) => {
    expect((await load(`drainMs: ${text}\n`)).drainMs).toBe(value)
  })
})

describe('copies', () => {
  it('must refer to an earlier anchor that does not contain them', async () => {
    expect(await faultOf('limits:\n  a: *b\n  b: &b 5, 1/s\n')).toMatch(/^2:6: expected an anchor/)
    expect(await faultOf('limits: &all\n  a: *all\n')).toMatch(/^2:6: expected an alias .* outside/)
    expect(await faultOf('limits:\n  a: &a {capacity: 5, rate: 1/s}\n  <<: *a\n')).toMatch(
      /^3:3: .* is not supported here$/,
    )
  })

  it('of copies of copies are rejected, at the one that exceeds the maximum', async () => {
    const copies = (name: string) => Array.from({ length: 10 }, () => `*${name}`).join(', ')
    const names = ['b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm']
    const lines = names.map((name, index) => `${name}: &${name} [${copies('abcdefghijkl'[index]!)}]\n`)
    const fault = '5:20: expected aliases (*name) to copy at most 10000 values, got: more'
    expect(await faultOf(`a: &a [x]\n${lines.join('')}`)).toBe(fault)
  })

  it('have the position of their anchor in error messages', async () => {
    const text = 'limits:\n  a: &a {capacity: 5, rate: 1}\n  b: *a\n'
    const lines = await refusal(load(text))
    expect(lines.map((line) => line.split(': ')[0])).toEqual(['velvet-rope.yaml:2:9', 'velvet-rope.yaml:3:6'])
  })
})

describe('any invalid file', () => {
  const secret = 'hunter2Zq'
  const good = `redis: redis://me:${secret}@cache:6379
tokens:
  - name: shop
    sha256: ${secret}
    scopes: [read]
forward:
  allow: ['https://api.stripe.com']
  headers:
    'https://api.stripe.com': { Authorization: "Bearer ${secret}" }
`
  const slip = fc.record({
    at: fc.nat(good.length),
    removed: fc.nat(3),
    added: fc.oneof(fc.constantFrom(...':\n\'"{}[],*&!#-?|>%@ \t'), fc.string({ maxLength: 3 })),
  })

  it('no message shows a secret, and no other error is thrown', () => {
    const location = { name: 'a.yaml', path: '/a.yaml', isNamed: true }
    fc.assert(
      fc.property(fc.array(slip, { minLength: 1, maxLength: 2 }), (slips) => {
        const text = slips.reduce(
          (before, { at, removed, added }) => before.slice(0, at) + added + before.slice(at + removed),
          good,
        )
        try {
          composeConfig(location, { bytes: Buffer.from(text), digest: '' }, { env: {} })
        } catch (error) {
          expect(error).toBeInstanceOf(InvalidConfigError)
          const { message } = error as InvalidConfigError
          expect(message).not.toMatch(/hunter|unter2|nter2Z|ter2Zq/)
          for (const line of message.split('\n')) expect(line).toMatch(/^a\.yaml:\d+:\d+: \S/)
        }
      }),
      { numRuns: 2_000 },
    )
  })
})
