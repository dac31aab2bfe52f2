import { readdirSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import { text } from '../../src/redis/scripts/reply.ts'
import { defineScript } from '../../src/redis/scripts/script.ts'
import { lookAt } from '../support/redis-driver.ts'

const SRC = new URL('../../src/', import.meta.url)

/** Lua allows 200 local variables in one function; a script with its libraries is two, one within the other. */
const MOST_LOCALS = 200
/** And 60 that a function uses of those around it. */
const MOST_FROM_OUTSIDE = 60
const ROOM = 8

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter(
  (path) => path.endsWith('.lua') && !path.includes('/lib/'),
)

function textOf(path: string): string {
  const name = path.slice(path.lastIndexOf('/') + 1, -'.lua'.length)
  return defineScript(name, pathToFileURL(`${SRC.pathname}${path}`).href, text).text
}

const isInner = (line: string) => line === 'return (function()' || line === 'local answered = (function()'
const named = (count: number) => Array.from({ length: count }, (_, n) => `more${n}`)
const locals = (count: number) => named(count).map((name) => `local ${name}`)

/** The script with so many more local variables at the beginning of one of its functions. */
function withMoreLocals(script: string, count: number, { inner }: { readonly inner: boolean }): string {
  const [shebang, ...lines] = script.split('\n')
  const at = inner ? lines.findIndex(isInner) + 1 : 0
  return [shebang, ...lines.slice(0, at), ...locals(count), ...lines.slice(at)].join('\n')
}

/** The script with so many more variables that its inner function, and each in which libraries are made, use of those around it. */
function withMoreFromOutside(script: string, count: number): string {
  const [shebang, ...lines] = script.split('\n')
  const isAround = (line: string) => isInner(line) || line.endsWith('{ __index = function(_, name)')
  const used = lines.flatMap((line) => (isAround(line) ? [line, `local _ = { ${named(count)} }`] : [line]))
  return [shebang, ...locals(count), ...used].join('\n')
}

const load = (script: string) => lookAt().script('LOAD', script)

test('scripts are found', () => {
  expect(files).toEqual(expect.arrayContaining(['redis/verbs/claim.lua', 'redis/views/audit.lua']))
})

describe.each(files)('%s', (path) => {
  const script = textOf(path)

  test.each([true, false])(
    'has room for a few more local variables (in its inner function: %s)',
    async (inner) => {
      await expect(load(withMoreLocals(script, ROOM, { inner }))).resolves.toHaveLength(40)
      await expect(load(withMoreLocals(script, MOST_LOCALS, { inner }))).rejects.toThrow(
        'more than 200 local variables',
      )
    },
  )

  test('has room for a few more variables that its functions use of those around them', async () => {
    await expect(load(withMoreFromOutside(script, ROOM))).resolves.toHaveLength(40)
    await expect(load(withMoreFromOutside(script, MOST_FROM_OUTSIDE + 1))).rejects.toThrow(
      'more than 60 upvalues',
    )
  })
})
