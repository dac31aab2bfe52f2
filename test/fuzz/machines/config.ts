import { ok } from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { changesBetween, renderChanges } from '../../../src/config/changes.ts'
import { listSettings } from '../../../src/config/config.ts'
import { InvalidConfigError } from '../../../src/config/config-error.ts'
import { composeConfig } from '../../../src/config/load-config.ts'
import { SETTING_NAMES } from '../../../src/config/names.ts'
import { isVelvetRopeError } from '../../../src/core/errors.ts'
import { pureMachine } from '../machine.ts'
import { oddNumber, oddText } from '../odd-values.ts'

const EXAMPLE = readFileSync(new URL('../../../velvet-rope.example.yaml', import.meta.url), 'utf8')
  .split('\n')
  // What the example shows in comments counts, too.
  .map((line) => line.replace(/^(\s*)# (?=[\w'"*-]+:)/, '$1'))

const line = fc.oneof(
  fc.nat(EXAMPLE.length - 1).map((at) => EXAMPLE[at]!),
  fc
    .tuple(
      fc.constantFrom(
        'name',
        'listen',
        'limits',
        'redis',
        'tokens',
        'work',
        'forward',
        'http',
        'log',
        'shards',
        'drainMs',
      ),
      fc.oneof(oddText, oddNumber.map(String)),
    )
    .map((pair) => pair.join(': ')),
  fc
    .tuple(fc.constantFrom('  ', '    ', '\t'), oddText, fc.oneof(oddText, oddNumber.map(String)))
    .map(([indent, name, value]) => `${indent}${name}: ${value}`),
  fc.constantFrom(
    'limits:',
    "  '*': 5, 1/s",
    '  a: {capacity: 5, rate: 1/s}',
    'a: &a [*a]',
    'x: !!js/function "1"',
    '<<: *b',
    '---',
    '...',
    '- a',
    '? [a]',
    '|',
    '>',
    '{',
    '}',
    '%YAML 1.1',
    '# c',
    'a: 0x1F',
    'b: 1e999',
    'c: .nan',
    '__proto__: {a: 1}',
    'tokens: [{}]',
  ),
  oddText,
)
const bytes = fc.oneof(
  { weight: 4, arbitrary: fc.array(line, { maxLength: 12 }).map((lines) => Buffer.from(lines.join('\n'))) },
  {
    weight: 3,
    arbitrary: fc.tuple(fc.array(fc.tuple(fc.nat(EXAMPLE.length), line), { maxLength: 3 })).map(([edits]) => {
      const lines = [...EXAMPLE]
      for (const [at, text] of edits) lines[at] = text
      return Buffer.from(lines.join('\n'))
    }),
  },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 60 }).map((raw) => Buffer.from(raw)) },
)
const env = fc.dictionary(
  fc.oneof(
    fc.constantFrom(...SETTING_NAMES.map(({ variable }) => `VELVET_ROPE_${variable}`)),
    oddText.map((text) => `VELVET_ROPE_${text}`),
  ),
  fc.oneof(oddText, oddNumber.map(String)),
  { maxKeys: 3, noNullPrototype: true },
)
const PLACE = { name: 'velvet-rope.yaml', path: '/velvet-rope.yaml', isNamed: false }

/** Files and variables of a configuration: all problems are named with their places, or the settings can be shown and compared. */
export const configurations = pureMachine(
  { name: 'configurations', inputs: fc.tuple(bytes, env), few: 700, share: 8 },
  ([content, variables]) => {
    try {
      const config = composeConfig(PLACE, { bytes: content, digest: '' }, { env: variables })
      ok(listSettings(config).every(({ path }) => typeof path === 'string'))
      ok(renderChanges(changesBetween(config, config)).length === 0)
    } catch (error) {
      if (!isVelvetRopeError(error)) throw error
      ok(error instanceof InvalidConfigError && error.problems.length > 0)
      for (const { message } of error.problems) ok(message.length > 0 && message.length < 3_000, message)
    }
  },
)
