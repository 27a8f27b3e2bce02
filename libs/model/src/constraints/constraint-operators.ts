import type { Node } from '../nodes/node.js';
import type { Constraint } from '../jobs/placement-rules.js';
import { resolveTarget } from './constraint-targets.js';
import { matchesPattern } from './pattern-match.js';
import { satisfiesVersion } from './version-constraint.js';

/** This operator is always true here. Code that compares allocations handles it (SC-45, checks 11 and 12). */
export const DISTINCT_HOSTS = 'distinct_hosts';
export const DISTINCT_PROPERTY = 'distinct_property';

/**
 * Whether a node satisfies a constraint (section 5). An unknown operator is false, so that no allocation is placed by
 * mistake.
 */
export function meetsConstraint(constraint: Constraint, node: Node): boolean {
  const left = resolveTarget(constraint.LTarget, node);
  const right = resolveTarget(constraint.RTarget, node);
  return operatorHolds(constraint.Operand, left, right);
}

/** Whether the operator holds between both sides. A side is `undefined` if its target was not found. */
export function operatorHolds(operand: string, left: string | undefined, right: string | undefined): boolean {
  switch (operand) {
    case '=':
    case '==':
    case 'is':
      return left !== undefined && left === right;
    case '!=':
    case 'not':
      return (left ?? '') !== (right ?? '');
    case '<':
    case '<=':
    case '>':
    case '>=':
      return left !== undefined && right !== undefined && orderHolds(operand, order(left, right));
    case 'is_set':
      return left !== undefined;
    case 'is_not_set':
      return left === undefined;
    case 'set_contains':
    case 'set_contains_all':
      return left !== undefined && right !== undefined && itemsOf(right).every((item) => itemsOf(left).includes(item));
    case 'set_contains_any':
      return left !== undefined && right !== undefined && itemsOf(right).some((item) => itemsOf(left).includes(item));
    case 'version':
    case 'semver':
      return left !== undefined && right !== undefined && satisfiesVersion(operand, left, right);
    case 'regexp':
      return left !== undefined && right !== undefined && matchesPattern(left, right);
    case DISTINCT_HOSTS:
    case DISTINCT_PROPERTY:
      return true;
    default:
      return false;
  }
}

/**
 * Whether an ordering operator holds. `sign` is below 0, 0 or above 0 if the left side is less than, equal to or
 * greater than the right.
 */
export function orderHolds(operand: '<' | '<=' | '>' | '>=', sign: number): boolean {
  switch (operand) {
    case '<':
      return sign < 0;
    case '<=':
      return sign <= 0;
    case '>':
      return sign > 0;
    case '>=':
      return sign >= 0;
  }
}

/** Compares two values as integers, otherwise as floating point numbers, otherwise byte by byte. */
function order(left: string, right: string): number {
  const integer = /^[+-]?\d+$/;
  if (integer.test(left) && integer.test(right)) return signOf(BigInt(left), BigInt(right));
  const [x, y] = [floatOf(left), floatOf(right)];
  if (x !== undefined && y !== undefined) return signOf(x, y);
  return Buffer.compare(Buffer.from(left), Buffer.from(right));
}

function floatOf(text: string): number | undefined {
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : undefined;
}

function signOf<T extends number | bigint>(a: T, b: T): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

const itemsOf = (list: string): string[] => list.split(',').map((item) => item.trim());
