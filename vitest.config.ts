import { defineConfig } from 'vitest/config';

/**
 * Three layers with one process a file: unit needs nothing, integration one PostgreSQL, journeys start whole servers.
 * At most two workers, because the budgets are for two cores; journeys run alone, because they measure time and kill.
 */
const setupFiles = ['test/support/no-leaks.ts'];

export default defineConfig({
  test: {
    passWithNoTests: false,
    projects: [
      {
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', 'test/architecture.test.ts', 'test/docs.test.ts'],
          pool: 'forks',
          maxWorkers: 2,
          setupFiles,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: 'integration',
          include: ['test/integration/**/*.test.ts'],
          pool: 'forks',
          maxWorkers: 2,
          testTimeout: 20_000,
          hookTimeout: 20_000,
          globalSetup: ['test/support/postgres-server.ts'],
          setupFiles,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          name: 'journeys',
          include: ['test/journeys/**/*.test.ts'],
          pool: 'forks',
          maxWorkers: 1,
          testTimeout: 60_000,
          hookTimeout: 60_000,
          setupFiles,
          sequence: { groupOrder: 3 },
        },
      },
    ],
  },
});
