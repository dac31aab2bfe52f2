import type { Attack } from './attack.ts'
import { postBatches } from './bodies.ts'

export const unknownFields: Attack = {
  name: 'unknown-fields',
  what: 'one batch a second with 100,000 unknown field names',
  run: (target) => {
    const names = Array.from({ length: 100_000 }, (_, index) => `"n${index}":0`)
    return postBatches(target, `{${names.join(',')}}`, { clients: 1, pauseMs: 1_000 })
  },
}
