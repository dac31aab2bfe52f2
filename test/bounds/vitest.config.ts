import { defineConfig } from 'vitest/config'

/** For the long run alone, file by file: what takes time must not be disturbed by another file. */
export default defineConfig({
  test: {
    root: new URL('../..', import.meta.url).pathname,
    include: ['test/bounds/**/*.test.ts'],
    // What memory does is counted in a process of its own, which runs compiled sources.
    globalSetup: ['test/support/redis-setup.ts', 'test/support/built-setup.ts'],
    setupFiles: ['test/support/each-file.ts'],
    isolate: false,
    maxWorkers: 1,
    testTimeout: 600_000,
    hookTimeout: 600_000,
  },
})
