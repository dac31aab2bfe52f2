import type { Attack } from './attack.ts'
import { postBatches } from './bodies.ts'

export const manyValues: Attack = {
  name: 'many-values',
  what: 'batches of one job with 500,000 zeros, on 10 connections',
  run: (target) => {
    const body = `{"jobs":[{"key":"attacker","data":[${'0,'.repeat(499_999)}0]}]}`
    return postBatches(target, body, { clients: 10, pauseMs: 100 })
  },
}
