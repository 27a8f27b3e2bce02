// A vitest reporter: writes the tallies of the run's files as JSON to the file named by TEST_TALLY_FILE.
import { writeFileSync } from 'node:fs';
import { emptyTally, RUN, skipReason } from './test-tally.mjs';

export default class TallyReporter {
  /**
   * @param {ReadonlyArray<import('vitest/node').TestModule>} modules
   * @param {ReadonlyArray<import('vitest/node').SerializedError>} unhandled
   */
  onTestRunEnd(modules, unhandled) {
    /** @type {import('./test-tally.mjs').Report} */
    const report = {};
    for (const module of modules) report[module.relativeModuleId] = tallyOf(module);
    if (unhandled.length > 0) {
      const problems = unhandled.map((error) => `unhandled error: ${error.message}`);
      report[RUN] = { ...emptyTally(), failed: problems.length, problems };
    }
    const file = process.env.TEST_TALLY_FILE;
    if (file) writeFileSync(file, JSON.stringify(report));
  }
}

/** @param {import('vitest/node').TestModule} module */
function tallyOf(module) {
  const tally = emptyTally();
  const file = module.relativeModuleId;
  const suites = [module, ...module.children.allSuites()];
  for (const suite of suites) {
    // A failed import or hook: its tests did not run, which is one failure and no skip.
    for (const error of suite.errors()) {
      tally.failed += 1;
      tally.problems.push(`${file}: ${error.message}`);
    }
  }
  const hookFailed = suites.some((suite) => suite.errors().length > 0);
  for (const test of module.children.allTests()) {
    const { state, errors } = test.result();
    if (state === 'passed') tally.passed += 1;
    else if (state === 'failed') {
      tally.failed += 1;
      tally.problems.push(`${file}: ${test.fullName}: ${errors[0]?.message ?? 'no error was given'}`);
    } else if (state === 'skipped' && !hookFailed) {
      tally.skipped.push({ file, name: test.fullName, reason: skipReason(test.fullName, noteOf(test)) });
    } else if (state === 'pending') {
      tally.failed += 1;
      tally.problems.push(`${file}: ${test.fullName} never ended`);
    }
  }
  return tally;
}

/** @param {import('vitest/node').TestCase} test */
function noteOf(test) {
  const result = test.result();
  return result.state === 'skipped' ? result.note : undefined;
}
