// One test runner kept warm for scripts/mutation.mjs: takes a text to read in place of a file, answers what the tests
// said. Modules that did not change stay transformed from one fault to the next.
import path from 'node:path';
import { createVitest } from 'vitest/node';
import { root } from './source-tree.mjs';

/** @typedef {{ readonly file: string, readonly text: string, readonly specs: readonly string[] }} Request */
/** @typedef {{ readonly failed: number, readonly passed: number, readonly broken: readonly string[] }} Answer */

/** @type {{ file: string, text: string } | undefined} */
let fault;
const vitest = await createVitest(
  'test',
  { root, config: path.join(root, 'scripts/mutation.config.ts'), watch: false },
  { plugins: [{ name: 'fault', enforce: 'pre', load: (id) => (id === fault?.file ? fault.text : null) }] },
);
const specifications = await vitest.globTestSpecifications();

process.on('message', (/** @type {Request} */ request) => {
  void answered(request).then((answer) => process.send?.(answer));
});
process.send?.('ready');

/** @param {Request} request @returns {Promise<Answer>} */
async function answered({ file, text, specs }) {
  const changed = path.join(root, file);
  fault = { file: changed, text };
  vitest.invalidateFile(changed);
  const wanted = specifications.filter(({ moduleId }) => specs.includes(path.relative(root, moduleId)));
  // Otherwise the results of earlier faults stay among those of this one.
  vitest.state.filesMap.clear();
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications(wanted);
  fault = undefined;
  vitest.invalidateFile(changed);
  const tests = testModules.flatMap((module) => [...module.children.allTests()]);
  const broken = [...testModules.flatMap((module) => module.errors()), ...unhandledErrors].map(
    (error) => /** @type {Error} */ (error).message,
  );
  const count = (/** @type {string} */ state) => tests.filter((test) => test.result().state === state).length;
  return { failed: count('failed'), passed: count('passed'), broken };
}
