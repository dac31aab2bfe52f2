import { expect, test } from 'vitest'
import { codeOf, compilerErrors } from './support/document-examples.ts'

/** What an excerpt takes for granted. */
const GIVEN: readonly (readonly [name: string, declaration: string])[] = [
  ['shaper', "declare const shaper: import('velvet-rope').Shaper\n"],
  ['pool', "declare const pool: import('pg').Pool\n"],
]

test.each(['README.md', 'docs/recipes.md'])('every example of %s compiles under strict', async (document) => {
  const examples = (await codeOf(document)).map(complete)
  expect(examples.length).toBeGreaterThanOrEqual(5)
  expect(await compilerErrors(examples)).toBe('')
})

test('an example that does not compile is found', async () => {
  expect(await compilerErrors(["import { Shaper } from 'velvet-rope'\nnew Shaper(1)\n"])).toContain('TS')
})

function complete(code: string): string {
  const missing = GIVEN.filter(
    ([name]) => new RegExp(`\\b${name}\\b`).test(code) && !new RegExp(`const ${name} =`).test(code),
  )
  return `${missing.map(([, declaration]) => declaration).join('')}${code}export {}\n`
}
