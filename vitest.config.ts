import { defineConfig } from 'vitest/config'
import QuickLast from './test/support/quick-last.ts'

/** Need no server, no browser and no compiled sources: for the loop while you work. They cover the core. */
const UNIT = ['test/unit/**/*.test.ts', 'test/architecture.test.ts']
/** Machines that look for faults: together they use minutes of processor time. */
const MACHINES = ['fuzz', 'model', 'sim'].map((folder) => `test/${folder}/**/*.test.ts`)
/** Started once for all files. */
const SERVERS = ['redis', 'postgres', 'python', 'built'].map((name) => `test/support/${name}-setup.ts`)

export default defineConfig({
  test: {
    setupFiles: ['test/support/each-file.ts'],
    // Files share the processes that run them, and the modules in those: most of the time went into loading them again.
    isolate: false,
    // Twice the cores of a small machine: half of the time tests wait for clocks and servers.
    maxWorkers: 4,
    sequence: { sequencer: QuickLast },
    restoreMocks: true,
    unstubEnvs: true,
    // How long a test takes is no verdict: these end what hangs, also on a machine that is busy with something else.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 60_000 } },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: UNIT,
        },
      },
      {
        extends: true,
        test: {
          name: 'tests',
          globalSetup: SERVERS,
          include: ['test/**/*.test.ts'],
          exclude: [...UNIT, 'test/fault/**', 'test/soak/**', 'test/browser/**', ...MACHINES],
        },
      },
      {
        extends: true,
        test: {
          // With `campaign`, a part of `npm run test:faults`.
          name: 'machines',
          globalSetup: SERVERS,
          include: MACHINES,
        },
      },
      {
        extends: true,
        test: {
          name: 'campaign',
          // It takes minutes of real time, in many processes.
          globalSetup: [
            'test/support/redis-setup.ts',
            'test/support/built-setup.ts',
            'test/support/campaign/seed-setup.ts',
          ],
          include: ['test/fault/**/*.test.ts', 'test/soak/**/*.test.ts'],
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
        },
      },
    ],
    coverage: {
      provider: 'v8',
      include: ['src/core/**/*.ts'],
      reporter: ['text-summary'],
      thresholds: { branches: 100, functions: 100, lines: 100, statements: 100 },
    },
  },
})
