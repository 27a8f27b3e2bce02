import type { AllocListStub, NodeListStub } from '@waybill/model';
import { allocationTable } from '../allocations/allocation-table.js';
import type { ApiClient } from './api-client.js';
import type { Display } from '../terminal/display.js';
import { type EvaluationAnswer, evaluationList } from '../evaluations/evaluation-table.js';
import { CommandFailure, failed } from '../failure.js';
import { nodeTable } from '../nodes/node-table.js';
import { scalingPolicyTable, type ScalingPolicyStub } from '../jobs/scaling-policy.js';

/** A kind of object with UUIDs: its list and its names in messages. */
export interface UuidKind<T> {
  readonly path: string;
  readonly singular: string;
  readonly plural: string;
  readonly table: (rows: readonly T[], display: Display) => string;
  readonly tooShort: string;
  /** Name of the step in an error of the list. The default is `querying node`. */
  readonly doing?: string;
  /** `prefix or id`, or only `prefix` for one command. */
  readonly lookedUpBy: string;
}

const TOO_SHORT = 'Identifier must contain at least two characters.';

export const ALLOCATION: UuidKind<AllocListStub> = {
  path: '/v1/allocations',
  singular: 'allocation',
  plural: 'allocations',
  table: allocationTable,
  tooShort: TOO_SHORT,
  lookedUpBy: 'prefix or id',
};
export const EVALUATION: UuidKind<EvaluationAnswer> = {
  path: '/v1/evaluations',
  singular: 'evaluation',
  plural: 'evaluations',
  table: evaluationList,
  tooShort: TOO_SHORT,
  lookedUpBy: 'prefix or id',
};
export const NODE: UuidKind<NodeListStub> = {
  path: '/v1/nodes',
  singular: 'node',
  plural: 'nodes',
  table: nodeTable,
  tooShort: TOO_SHORT,
  lookedUpBy: 'prefix or id',
};
export const SCALING_POLICY: UuidKind<ScalingPolicyStub> = {
  path: '/v1/scaling/policies',
  singular: 'scaling policy',
  plural: 'scaling policies',
  table: scalingPolicyTable,
  tooShort: TOO_SHORT,
  lookedUpBy: 'prefix or id',
};

/** A prefix matches several objects. The message contains their table. */
export class AmbiguousPrefix extends CommandFailure {
  override readonly name = 'AmbiguousPrefix';
}

/** No object has an ID with this prefix. */
export class UnknownPrefix extends CommandFailure {
  override readonly name = 'UnknownPrefix';
}

/**
 * Returns the prefix for the lookup. A prefix needs an even number of digits, so an odd digit at the end is dropped
 * (CL-155). @throws CommandFailure
 */
export function lookupPrefix(given: string, tooShort: string): string {
  if (given.length < 2) throw new CommandFailure(tooShort);
  return given.replaceAll('-', '').length % 2 === 1 ? given.slice(0, -1) : given;
}

/**
 * Finds the only object with this ID prefix (CL-155, CL-156). @throws CommandFailure, UnknownPrefix, AmbiguousPrefix
 */
export async function resolveUuid<T extends { readonly ID: string }>(
  api: ApiClient,
  kind: UuidKind<T>,
  given: string,
  display: Display,
): Promise<T> {
  const prefix = lookupPrefix(given, kind.tooShort);
  const { value } = await api.get<T[] | null>(kind.path, { prefix }).catch((error: unknown) => {
    throw failed(kind.doing ?? `querying ${kind.singular}`, error);
  });
  const rows = value ?? [];
  const [first] = rows;
  if (!first) throw new UnknownPrefix(`No ${kind.singular}(s) with ${kind.lookedUpBy} "${given}" found`);
  if (rows.length > 1)
    throw new AmbiguousPrefix(`Prefix matched multiple ${kind.plural}\n\n${kind.table(rows, display)}`);
  return first;
}
