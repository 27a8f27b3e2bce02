import { defineConfig } from 'vitest/config';
import base from '../vitest.config.js';

/** The unit tests of every package, one after the other in one place: scripts/mutation-worker.mjs chooses among them. */
export default defineConfig({
  ...(base.resolve && { resolve: base.resolve }),
  test: {
    include: ['{libs,apps}/*/src/**/*.spec.ts'],
    // A busy machine must not be taken for a fault.
    testTimeout: 30_000,
    expect: { poll: { timeout: 5_000, interval: 10 } },
    isolate: false,
    pool: 'threads',
    maxWorkers: 1,
    bail: 1,
    reporters: [{}],
  },
});
