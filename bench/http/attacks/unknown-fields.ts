import type { Attack } from './attack.ts'
import { postBatches } from './bodies.ts'

export const unknownFields: Attack = {
  name: 'unknown-fields',
  what: 'one batch a second with 100,000 unknown field names',
  run: (target) => {
    // Short names: a body of more than a mebibyte is refused by its length.
    const names = Array.from({ length: 100_000 }, (_, index) => `"${index.toString(36)}":0`)
    const job = `{"key":"attacker","data":0,${names.join(',')}}`
    return postBatches(target, `{"jobs":[${job}]}`, { clients: 1, pauseMs: 1_000 })
  },
}
