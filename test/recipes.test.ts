import { expect, test } from 'vitest'
import { examplesOf, run } from './support/document-examples.ts'

const recipes = await examplesOf('docs/recipes.md')

test('there is a recipe for each of the usual needs', () => {
  expect(recipes).toHaveLength(5)
})

test.each(recipes)('$title prints what the recipe says', async ({ code, output }) => {
  expect(await run(code)).toBe(output)
})
