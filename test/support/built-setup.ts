import type { TestProject } from 'vitest/node'
import { compileTests } from './compile-tests.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** The folder of the compiled sources, in which every file has the path that it has in the checkout. */
    builtFolder: string
  }
}

/** Compiles, once for each run, everything that tests start in processes of their own. */
export default function setup(project: TestProject): () => void {
  const { folder, remove } = compileTests()
  project.provide('builtFolder', folder)
  return remove
}
