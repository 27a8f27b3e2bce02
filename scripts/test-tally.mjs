/**
 * What a test run came to. `failed` counts failed tests and every other failure (a file that does not load, an
 * unhandled error, a skip without a reason); `problems` says of each what it was.
 *
 * @typedef {{ file: string, name: string, reason: string }} Skip
 * @typedef {{ passed: number, failed: number, skipped: Skip[], problems: string[] }} Tally
 */

/**
 * What a run says of itself: the tally of each file; under RUN, what belongs to no file.
 *
 * @typedef {Record<string, Tally>} Report
 */
export const RUN = '';

/** @returns {Tally} */
export const emptyTally = () => ({ passed: 0, failed: 0, skipped: [], problems: [] });

/**
 * @param {Tally} a
 * @param {Tally} b
 * @returns {Tally}
 */
export const mergeTallies = (a, b) => ({
  passed: a.passed + b.passed,
  failed: a.failed + b.failed,
  skipped: [...a.skipped, ...b.skipped],
  problems: [...a.problems, ...b.problems],
});

/** Files that may fail and be run once more; with more of them something is broken. */
export const MAX_SECOND_TRIES = 3;

/**
 * The files to run once more, from new processes: those that failed, if they are few and nothing else went wrong.
 *
 * @param {Report | undefined} report
 */
export function filesToTryAgain(report = {}) {
  const failed = Object.keys(report).filter((file) => (report[file]?.failed ?? 0) > 0);
  return failed.length > MAX_SECOND_TRIES || failed.includes(RUN) ? [] : failed;
}

/**
 * A run with its second try: whatever the second one says of a file counts, and a file it is silent about keeps its first.
 *
 * @param {Report} first
 * @param {Report | undefined} second
 * @returns {Report}
 */
export const withSecondTry = (first, second) => ({ ...first, ...second });

/**
 * Joins a run's exit with its report: a run that ended badly although its report shows no failure is one failure, so
 * that a crash of the runner can never pass.
 *
 * @param {string} project
 * @param {number | string | null} exit exit code, or the signal that ended it
 * @param {Report | undefined} report undefined: it ended without one
 * @returns {Tally}
 */
export function verdictOf(project, exit, report) {
  if (report === undefined) {
    return { ...emptyTally(), failed: 1, problems: [`the ${project} tests ended (${exit}) without a report`] };
  }
  const tally = Object.values(report).reduce(mergeTallies, emptyTally());
  const silent = tally.skipped.filter((skip) => skip.reason === '');
  const withSkips = {
    ...tally,
    failed: tally.failed + silent.length,
    problems: [...tally.problems, ...silent.map((skip) => `skipped without a reason: ${skip.file}: ${skip.name}`)],
  };
  if (exit === 0 || withSkips.failed > 0) return withSkips;
  return {
    ...withSkips,
    failed: 1,
    problems: [...withSkips.problems, `the ${project} tests ended with ${exit} although no test failed`],
  };
}

/**
 * The reason of a skip: the note given to `ctx.skip(note)`, else what stands in brackets in the test's full name,
 * `it.skipIf(!kubectl)('renders (needs kubectl)')`. Empty when there is neither.
 *
 * @param {string} fullName
 * @param {string | undefined} note
 */
export function skipReason(fullName, note) {
  if (note) return note;
  const bracketed = [...fullName.matchAll(/\(([^()]+)\)/g)].at(-1);
  return bracketed?.[1]?.trim() ?? '';
}

/** @param {Skip[]} skips */
export function skippedTable(skips) {
  return skips
    .map((skip) => `  ${skip.file}: ${skip.name}\n    because: ${skip.reason || '(no reason given)'}`)
    .join('\n');
}

/** @param {Tally} tally */
export function summaryLine({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed${skipped.length > 0 ? `, ${skipped.length} skipped` : ''}`;
}
