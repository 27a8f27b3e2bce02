// A vitest reporter: writes the tallies of the run's files as JSON to the file named by TEST_TALLY_FILE.
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { emptyTally, RUN, skipReason } from './test-tally.mjs';

/**
 * After so many milliseconds in which no test has ended, the run hangs: the time limit of a test is a timer of its own
 * process, and does not end a loop there that lets no timer fire. No test may take as long.
 */
const HANGS_AFTER_MS = Number(process.env.TEST_HANGS_AFTER_MS ?? 600_000);

/** TallyReporter writes the tallies at the end of the run, and ends a run that hangs. */
export default class TallyReporter {
  /** @type {NodeJS.Timeout | undefined} */
  #watch;
  /** @type {import('vitest/node').Vitest | undefined} */
  #vitest;
  /** @type {string[]} */
  #files = [];

  /** @param {import('vitest/node').Vitest} vitest */
  onInit(vitest) {
    this.#vitest = vitest;
  }

  /** @param {ReadonlyArray<import('vitest/node').TestSpecification>} specifications */
  onTestRunStart(specifications) {
    this.#files = specifications.map(({ moduleId, project }) => path.relative(project.config.root, moduleId));
    this.#goesOn();
  }

  onTestModuleCollected() {
    this.#goesOn();
  }

  onTestCaseResult() {
    this.#goesOn();
  }

  onTestModuleEnd() {
    this.#goesOn();
  }

  /**
   * @param {ReadonlyArray<import('vitest/node').TestModule>} modules
   * @param {ReadonlyArray<import('vitest/node').SerializedError>} unhandled
   */
  onTestRunEnd(modules, unhandled) {
    clearTimeout(this.#watch);
    /** @type {import('./test-tally.mjs').Report} */
    const report = {};
    for (const module of modules) report[module.relativeModuleId] = tallyOf(module);
    if (unhandled.length > 0) {
      report[RUN] = failedTally(...unhandled.map((error) => `unhandled error: ${error.message}`));
    }
    writeReport(report);
  }

  #goesOn() {
    clearTimeout(this.#watch);
    this.#watch = setTimeout(() => this.#end(), HANGS_AFTER_MS);
  }

  /** Writes the report so far and ends this process. `runVitest` kills the workers. */
  #end() {
    /** @type {import('./test-tally.mjs').Report} */
    const report = {};
    for (const file of this.#files) report[file] = failedTally(`${file}: did not run`);
    for (const module of this.#vitest?.state.getTestModules() ?? []) {
      const tally = tallyOf(module);
      const isUnderWay = ['queued', 'pending'].includes(module.state());
      report[module.relativeModuleId] =
        tally.failed > 0 || !isUnderWay ? tally : failedTally(`${module.relativeModuleId}: never ended`);
    }
    writeReport(report);
    process.stderr.write(`\nno test has ended for ${HANGS_AFTER_MS / 60_000} minutes: the run is given up\n`);
    process.exit(1);
  }
}

/** @param {string[]} problems */
const failedTally = (...problems) => ({ ...emptyTally(), failed: problems.length, problems });

/** @param {import('./test-tally.mjs').Report} report */
function writeReport(report) {
  const file = process.env.TEST_TALLY_FILE;
  if (file) writeFileSync(file, JSON.stringify(report));
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
