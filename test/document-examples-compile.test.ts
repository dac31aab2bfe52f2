import { expect, test } from 'vitest'
import { codeOf, compilerErrors, DOCUMENTS } from './support/document-examples.ts'

/** What an excerpt takes for granted. */
const GIVEN: readonly (readonly [name: string, declaration: string])[] = [
  ['shaper', "declare const shaper: import('velvet-rope').Shaper\n"],
  ['pool', "declare const pool: import('pg').Pool\n"],
]

test('every example of every document compiles under strict', async () => {
  const examples = (await Promise.all(DOCUMENTS.map(codeOf))).flat().map(complete)
  expect(examples.length).toBeGreaterThanOrEqual(20)
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
