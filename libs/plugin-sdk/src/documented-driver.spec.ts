import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const read = (file: string): string => readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8');

it('the driver in the documentation is the example, in fifty lines', () => {
  const example = read('examples/plugins/src/sleep-driver.ts');
  expect(read('docs/plugins.md')).toContain(`\`\`\`ts\n${example}\`\`\``);
  expect(example.split('\n').length).toBeLessThanOrEqual(50);
});
