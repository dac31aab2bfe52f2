import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { scriptText } from '../../../../src/redis/scripts/script-text.ts'
import { allScripts } from '../../../fuzz/scripts/all-scripts.ts'

const LIB = new URL('../../../../src/redis/scripts/lib/', import.meta.url)
const libraries = new Map(
  readdirSync(LIB).map((file) => [file.slice(0, -'.lua'.length), readFileSync(new URL(file, LIB), 'utf8')]),
)
const tableOf = (text: string) => /^-- of: (\w+)$/m.exec(text)?.[1]
const ofTables = [...libraries].filter(([, text]) => tableOf(text) !== undefined)

/** What a library does when it is made, outside of its functions and of one block around them. */
function outermost(text: string): string[] {
  return text.split('\n').filter((line) => /^[^\s-]/.test(line) && line !== 'do' && line !== 'end')
}

describe('a library of one table', () => {
  test('is found', () => expect(ofTables.map(([name]) => name)).toContain('follow'))

  test.each(ofTables)('%s has functions of that table alone', (_, text) => {
    const table = tableOf(text)!
    expect(outermost(text).filter((line) => !line.startsWith(`function ${table}.`))).toEqual([])
    expect(text).toMatch(new RegExp(`^ *function ${table}\\.`, 'm'))
  })

  test.each([...allScripts()])('has each of its functions once in %s', (_, { text }) => {
    const names = [...text.matchAll(/^ *function (\w+\.\w+)\(/gm)].map(([, name]) => name)
    expect(names).toEqual([...new Set(names)])
  })
})

test('the functions of a table are made by the first call of one of them, in the order of the libraries', () => {
  const text = scriptText(
    ['#!lua', 'local K = {}'],
    [
      'local function plain() end',
      '-- of: usage\nfunction usage.a() end\nfunction usage.b(x) end',
      '-- of: usage\ndo\n  function usage.c() end\nend',
    ],
    'return plain(usage.a(), usage.c())',
  )
  expect(text.split('\n')).toEqual([
    '#!lua',
    'local K = {}',
    'return (function()',
    'local function plain() end',
    'setmetatable(usage, { __index = function(_, name)',
    "if name == 'a' or name == 'b' then",
    '-- of: usage',
    'function usage.a() end',
    'function usage.b(x) end',
    "elseif name == 'c' then",
    '-- of: usage',
    'do',
    '  function usage.c() end',
    'end',
    'end',
    'return rawget(usage, name)',
    'end })',
    'return plain(usage.a(), usage.c())',
    'end)()',
  ])
})
