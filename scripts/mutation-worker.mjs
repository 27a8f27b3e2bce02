// One test runner kept warm for scripts/mutation.mjs: takes texts to read in place of files, answers what the tests
// said. Modules that did not change stay transformed from one fault to the next.
import path from 'node:path';
import { createVitest } from 'vitest/node';
import { root } from './source-tree.mjs';

/** @typedef {{ readonly texts: Readonly<Record<string, string>>, readonly specs: readonly string[] }} Request */
/** @typedef {{ readonly failed: readonly string[], readonly passed: number }} Answer What failed, in words. */

/** @type {ReadonlyMap<string, string>} by the file's full path */
let texts = new Map();
const vitest = await createVitest(
  'test',
  { root, config: path.join(root, 'scripts/mutation.config.ts'), watch: false },
  { plugins: [{ name: 'fault', enforce: 'pre', load: (id) => texts.get(id) ?? null }] },
);
const specifications = await vitest.globTestSpecifications();

process.on('message', (/** @type {Request} */ request) => {
  void answered(request).then((answer) => process.send?.(answer));
});
process.on('disconnect', () => process.exit());
process.send?.('ready');

/** @param {Request} request @returns {Promise<Answer>} */
async function answered(request) {
  const changed = new Map(Object.entries(request.texts).map(([file, text]) => [path.join(root, file), text]));
  texts = changed;
  for (const file of changed.keys()) vitest.invalidateFile(file);
  const wanted = specifications.filter(({ moduleId }) => request.specs.includes(path.relative(root, moduleId)));
  // Otherwise the results of earlier faults stay among those of this one.
  vitest.state.filesMap.clear();
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications(wanted);
  texts = new Map();
  for (const file of changed.keys()) vitest.invalidateFile(file);
  const tests = testModules.flatMap((module) => [...module.children.allTests()]);
  const broken = [...testModules.flatMap((module) => module.errors()), ...unhandledErrors].map(
    (error) => /** @type {Error} */ (error).message,
  );
  const failed = tests.filter((test) => test.result().state === 'failed').map(({ fullName }) => fullName);
  return { failed: [...failed, ...broken], passed: tests.filter((test) => test.result().state === 'passed').length };
}
