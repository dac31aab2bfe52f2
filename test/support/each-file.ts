import fc from 'fast-check'
import { afterAll } from 'vitest'
import { checkSuite } from '../bounds/watch-suite.ts'
import { endFile } from './at-file-end.ts'

// Vitest runs this file before each test file.

// The same traces in each run: whether a change is good must not depend on what is drawn.
fc.configureGlobal({ seed: Number(process.env['PROPERTY_SEED'] || 1) })

afterAll(async () => {
  await endFile()
  await checkSuite()
})
