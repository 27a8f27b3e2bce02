import { Evaluator } from './evaluation/evaluator.js';
import { Scope } from './evaluation/scope.js';
import { StepBudget } from './evaluation/step-budget.js';
import { typeFrom } from './evaluation/type-expression.js';
import { ANY, type Type } from './evaluation/type.js';
import type { Value } from './evaluation/value.js';
import { functionTable } from './functions/functions.js';
import { SCHEMA_FUNCTIONS } from './functions/schema-functions.js';
import { parseExpression } from './syntax/body-parser.js';
import { SourceText } from './syntax/source-text.js';

/**
 * Evaluates an expression that stands alone, such as a literal in the schema of a plugin (PG-42).
 * @param functions names of the functions that the expression may call
 * @throws JobspecError
 */
export function parseConstant(text: string, functions: ReadonlySet<string>): Value {
  const known = [...functionTable(undefined), ...Object.entries(SCHEMA_FUNCTIONS)];
  const table = new Map(known.filter(([name]) => functions.has(name)));
  return new Evaluator(table, new StepBudget()).evaluate(parseExpression(new SourceText('literal', text)), Scope.EMPTY);
}

/** Parses a type that stands alone. Unlike in a job file, it may be `any` (PG-42). @throws JobspecError */
export const parseType = (text: string): Type =>
  text.trim() === 'any' ? ANY : typeFrom(parseExpression(new SourceText('type', text)));
