import { readFileSync } from 'node:fs';
import { defineConfig } from 'vitest/config';
import base from '../vitest.config.js';

/** What scripts/mutation.mjs asks for: a file that reads otherwise than it stands, and the tests that should notice. */
interface Fault {
  readonly file: string;
  readonly text: string;
  readonly specs: string;
}
const { file, text, specs } = JSON.parse(readFileSync(process.env['WAYBILL_MUTATION'] ?? '', 'utf8')) as Fault;

export default defineConfig({
  ...(base.resolve && { resolve: base.resolve }),
  plugins: [
    {
      name: 'fault',
      enforce: 'pre',
      load: (id) => (id === file ? text : null),
    },
  ],
  test: {
    include: [specs],
    testTimeout: 10_000,
    expect: { poll: { timeout: 2_000, interval: 10 } },
    isolate: false,
    maxWorkers: 1,
    bail: 1,
    reporters: [{}],
  },
});
