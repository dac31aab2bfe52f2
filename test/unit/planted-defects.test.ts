import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { DEFECTS } from '../fault/planted/defects.ts'
import { FAMILY_MUTANTS } from '../model/family/mutants.ts'
import { MENDED } from '../sim/mutants/mended.ts'
import { edited, type Mutant } from '../sim/mutants/mutant.ts'
import { PROTOCOL } from '../sim/mutants/protocol.ts'
import { RUNS } from '../sim/mutants/runs.ts'
import { SETS } from '../sim/mutants/sets.ts'
import { TOTALS } from '../sim/mutants/totals.ts'

const pathOf = (file: string) => fileURLToPath(new URL(`../../${file}`, import.meta.url))
const planted = new Map<string, Pick<Mutant, 'edits'>>(
  [...PROTOCOL, ...MENDED, ...RUNS, ...SETS, ...TOTALS, ...DEFECTS].map((defect) => [defect.name, defect]),
)

describe('a planted defect', () => {
  test.each([...planted])('"%s" has its place in the sources, once', (_, { edits }) => {
    expect(edits.length).toBeGreaterThan(0)
    for (const edit of edits) {
      const text = readFileSync(pathOf(edit.file), 'utf8')
      expect(edited(text, edit)).not.toBe(text)
    }
  })

  test.each(Object.entries(FAMILY_MUTANTS))('"%s" has its place in a library, once', (_, { patch }) => {
    const folder = pathOf('src/redis/scripts/lib')
    const texts = readdirSync(folder).map((file) => readFileSync(`${folder}/${file}`, 'utf8'))
    expect(texts.filter((text) => text.includes(patch.from))).toHaveLength(1)
  })

  test.each(DEFECTS)('"$name" names the file that finds it', ({ foundBy }) => {
    expect(existsSync(pathOf(foundBy))).toBe(true)
  })
})
