/**
 * Whether a node satisfies the constraints of a job or a volume (SC section 5): operators, and the values of targets on
 * a node.
 */
export * from './constraint-operators.js';
export * from './constraint-targets.js';
export { globMatcher } from './glob.js';
