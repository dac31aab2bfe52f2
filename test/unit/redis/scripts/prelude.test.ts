import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { JOB_STATES } from '../../../../src/core/job.ts'
import { meterPrelude, STORED_STATES, shardPrelude } from '../../../../src/redis/scripts/prelude.ts'

const SRC = fileURLToPath(new URL('../../../../src/', import.meta.url))

interface Constant {
  readonly name: string
  readonly value: string
  readonly file: string
}

function read(ending: string): { readonly file: string; readonly text: string }[] {
  const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith(ending),
  )
  return files.map((file) => ({ file, text: readFileSync(`${SRC}${file}`, 'utf8') }))
}

/** Those of a file in capitals at its outermost level; `local A, B = 1, 2` defines two. */
function luaConstants({ file, text }: { readonly file: string; readonly text: string }): Constant[] {
  return [...text.matchAll(/^local ([A-Z][A-Z0-9_, ]*) = (.*(?:\n {2}.*)*(?:\n\})?)$/gm)].flatMap(
    ([, names, values]) => {
      const all = names!.split(', ')
      const each = all.length === 1 ? [values!] : values!.split(', ')
      return all.map((name, index) => ({ name, value: normalized(each[index]!), file }))
    },
  )
}

const UNITS: Readonly<Record<string, number>> = {
  MILLISECOND: 1e3,
  SECOND: 1e6,
  MINUTE: 60e6,
  HOUR: 3_600e6,
  DAY: 86_400e6,
}

/** A product of numbers and units as a number; anything else as it is written, without spaces. */
function normalized(text: string): string {
  const factors = text.replaceAll('_', '').trim().split(' * ')
  const numbers = factors.map((factor) => UNITS[factor] ?? Number(factor))
  if (numbers.some(Number.isNaN)) return text.replaceAll(/\s/g, '')
  return String(numbers.reduce((product, factor) => product * factor, 1))
}

function codeConstants({ file, text }: { readonly file: string; readonly text: string }): Constant[] {
  const found = text.matchAll(/^(?:export )?const ([A-Z][A-Z0-9_]*) = (.+)$/gm)
  return [...found].map(([, name, value]) => ({ name: name!, value: normalized(value!), file }))
}

const scripts = read('.lua').flatMap(luaConstants)
const shared = [shardPrelude({ isReadOnly: false }), meterPrelude()].flatMap((text) =>
  luaConstants({ file: 'the prelude', text }),
)

const isSame = (a: Constant) => (b: Constant) => a.name === b.name && a.value === b.value
const shown = ({ name, value, file }: Constant) => `${file}: ${name} = ${value}`

describe('no constant is written twice', () => {
  test('the constants are found', () => {
    expect(normalized('1.5 * SECOND')).toBe(normalized('1_500_000'))
    expect(
      luaConstants({ file: 'a.lua', text: 'local A, B = 1, 2\nif A then\n  local C = 3\nend' }).map(shown),
    ).toEqual(['a.lua: A = 1', 'a.lua: B = 2'])
    expect(scripts.map(({ name }) => name)).toContain('REPLAY_WINDOW')
    expect(shared.map(shown)).toContain('the prelude: TURN_LEASE = 3900000')
    expect(shared.map(({ name }) => name)).toEqual(expect.arrayContaining(['K', 'STATES', 'ROUNDING']))
  })

  test('neither in a script and in the prelude', () => {
    const names = new Set(
      luaConstants({ file: '', text: shardPrelude({ isReadOnly: false }) }).map(({ name }) => name),
    )
    const ofMeter = new Set(luaConstants({ file: '', text: meterPrelude() }).map(({ name }) => name))
    const twice = scripts.filter(({ name, file }) => (file.startsWith('meter/') ? ofMeter : names).has(name))
    expect(twice.map(shown)).toEqual([])
  })

  test('nor in a script and in TypeScript', () => {
    const code = read('.ts').flatMap(codeConstants)
    expect(code.map(shown)).toContain('redis/scripts/prelude.ts: TURN_LEASE = 3900000')
    expect(scripts.filter((constant) => code.some(isSame(constant))).map(shown)).toEqual([])
  })

  test('nor in two scripts', () => {
    const twice = scripts.filter((constant) => scripts.filter(isSame(constant)).length > 1)
    expect(twice.map(shown)).toEqual([])
  })
})

test('every state of a job is stored, and a job with a slot has one of its own', () => {
  expect(STORED_STATES.filter((state) => state !== 'granted')).toEqual(JOB_STATES)
})
