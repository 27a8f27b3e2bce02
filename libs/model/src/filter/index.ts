export { Filter, MAX_STEPS_PER_OBJECT } from './filter.js';
export * from './filter-error.js';
export { MAX_EXPRESSION_LENGTH } from './lexer.js';
export { compilePattern } from './regular-expression.js';
export { StepBudget } from './step-budget.js';
