import { readdirSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { text } from '../../src/redis/scripts/reply.ts'
import { defineScript } from '../../src/redis/scripts/script.ts'
import { lookAt } from '../support/redis-driver.ts'

const SRC = new URL('../../src/', import.meta.url)

/** Lua allows 200 local variables in one function, and a script with all the parts that it uses is one. */
const ROOM = 8

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter(
  (path) => path.endsWith('.lua') && !path.includes('/lib/'),
)

/** The script with so many more local variables at its beginning. */
function withMoreLocals(path: string, count: number): string {
  const name = path.slice(path.lastIndexOf('/') + 1, -'.lua'.length)
  const [shebang, ...lines] = defineScript(
    name,
    pathToFileURL(`${SRC.pathname}${path}`).href,
    text,
  ).text.split('\n')
  const more = Array.from({ length: count }, (_, n) => `local more${n}`)
  return [shebang, ...more, ...lines].join('\n')
}

test('scripts are found', () => {
  expect(files).toEqual(expect.arrayContaining(['redis/verbs/claim.lua', 'redis/views/audit.lua']))
})

test.each(files)('%s has room for a few more local variables', async (path) => {
  await expect(lookAt().script('LOAD', withMoreLocals(path, ROOM))).resolves.toHaveLength(40)
  await expect(lookAt().script('LOAD', withMoreLocals(path, 200))).rejects.toThrow(
    'more than 200 local variables',
  )
})
