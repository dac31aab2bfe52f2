import { defineConfig } from 'vitest/config'

/** For long runs: the machines alone, and nothing compiled or started that they do not need. */
export default defineConfig({
  test: {
    root: new URL('../..', import.meta.url).pathname,
    include: ['test/fuzz/**/*.test.ts'],
    globalSetup: ['test/support/redis-setup.ts'],
    setupFiles: ['test/support/each-file.ts'],
    isolate: false,
    maxWorkers: 1,
    testTimeout: 600_000,
    hookTimeout: 600_000,
  },
})
