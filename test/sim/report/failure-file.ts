import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Outcome } from '../run-plan.ts'
import { summary, timeline } from './timeline.ts'

/** Writes what is known of a failure to a file of its own, and returns its path. */
export function saveFailure(folder: string, seed: number, whole: Outcome, smallest: Outcome): string {
  mkdirSync(folder, { recursive: true })
  const path = join(folder, `seed-${seed}.txt`)
  const text = [
    `Seed ${seed}. To repeat it: npm run test:sim -- --only ${seed} --trace`,
    '',
    'What failed:',
    summary(whole.failures),
    '',
    'The smallest plan that fails in the same way:',
    JSON.stringify(smallest.plan, undefined, 1),
    '',
    'What failed in it:',
    summary(smallest.failures),
    '',
    timeline(smallest),
    '',
  ]
  writeFileSync(path, text.join('\n'))
  return path
}
