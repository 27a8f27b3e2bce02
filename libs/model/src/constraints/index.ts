/** Whether a node is what a job or a volume asks for (SC section 5): operators, and what targets stand for on a node. */
export * from './constraint-operators.js';
export * from './constraint-targets.js';
export { globMatcher } from './glob.js';
