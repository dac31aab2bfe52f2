import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    globalSetup: ['test/support/redis-setup.ts', 'test/support/built-setup.ts'],
    testTimeout: 60_000,
    // Some start servers.
    hookTimeout: 60_000,
    projects: [
      {
        extends: true,
        test: {
          name: 'tests',
          // Beside the one above.
          globalSetup: ['test/support/postgres-setup.ts'],
          include: ['test/**/*.test.ts'],
          exclude: ['test/fault/**', 'test/browser/**'],
        },
      },
      {
        extends: true,
        test: {
          name: 'campaign',
          include: ['test/fault/**/*.test.ts'],
          // Many processes each, and judged by the clock: one after the other, when all else is done.
          fileParallelism: false,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: 'browser',
          globalSetup: ['test/support/browser-setup.ts'],
          include: ['test/browser/**/*.test.ts'],
          fileParallelism: false,
          sequence: { groupOrder: 2 },
        },
      },
    ],
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      reporter: ['text-summary'],
      thresholds: { 'src/core/**.ts': { branches: 100, functions: 100, lines: 100, statements: 100 } },
    },
  },
})
