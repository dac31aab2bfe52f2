import { afterAll } from 'vitest'
import { endFile } from './at-file-end.ts'

// Vitest runs this file before each test file.
afterAll(endFile)
