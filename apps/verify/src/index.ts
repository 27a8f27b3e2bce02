export { checkLog, LogCheck, LogReader, type LogCheckOptions, type LogReport, type Rejection } from './log-check.js';
export { INVARIANTS, type InvariantName, type Violation } from './invariant.js';
export type { OpenEvaluation } from './evaluations.js';
export { readLog, TrimmedLogError } from './log.transport.js';
export { readProjection } from './projection.store.js';
export { logReportText, stateReportText } from './report.js';
export { compareStates, type StateReport, type TableComparison } from './state-comparison.js';
