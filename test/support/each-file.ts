import { afterAll } from 'vitest'
import { checkSuite } from '../bounds/watch-suite.ts'
import { endFile } from './at-file-end.ts'

// Vitest runs this file before each test file.
afterAll(async () => {
  await endFile()
  await checkSuite()
})
