import { randomInt } from 'node:crypto'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  export interface ProvidedContext {
    faultSeed: number
  }
}

/** Once for each run: the seed of everything that the campaigns do by chance is FAULT_SEED, or another each time. */
export default function setup(project: TestProject): void {
  const seed = Number(process.env['FAULT_SEED'] || randomInt(1, 2 ** 31))
  console.log(`Seed of the campaigns: ${seed} (FAULT_SEED=${seed} does by chance the same again)`)
  project.provide('faultSeed', seed)
}
