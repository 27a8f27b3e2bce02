import {
  DecodeError,
  isBuiltInNodePool,
  nodePoolProblem,
  type NodePoolSpecification,
  parseDuration,
  wire,
} from '@waybill/model';
import { badRequest } from '../http/api-error.js';
import { readJsonBody } from '../http/body.js';

/** The field is a number of nanoseconds, or a duration in text (API-13). */
const IDENTITY_TTL: wire.Field<number> = {
  ...wire.duration(),
  read: (json, place) => {
    if (typeof json !== 'string') return wire.duration().read(json, place);
    const ns = json === '' ? 0 : parseDuration(json);
    if (ns === undefined) throw DecodeError.wrongType(json, place, 'time.Duration');
    return ns;
  },
};

const SCHEDULER_CONFIGURATION: wire.Shape<NonNullable<NodePoolSpecification['SchedulerConfiguration']>> = {
  name: 'NodePoolSchedulerConfiguration',
  fields: { SchedulerAlgorithm: wire.string(), MemoryOversubscriptionEnabled: wire.optional(wire.boolean()) },
};

const NODE_POOL: wire.Shape<NodePoolSpecification> = {
  name: 'NodePool',
  fields: {
    Name: wire.string(),
    Description: wire.string(),
    Meta: wire.map(wire.string()),
    SchedulerConfiguration: wire.object(SCHEDULER_CONFIGURATION),
    NodeIdentityTTL: IDENTITY_TTL,
  },
};

/**
 * Reads the pool in a body (ND-182 to ND-185).
 * @param name the name in the path; undefined if it has none
 * @throws Refusal invalid, DecodeError
 */
export function readNodePool(body: unknown, name: string | undefined): NodePoolSpecification {
  const pool = wire.decodeShape(NODE_POOL, readJsonBody(body));
  if (name !== undefined && pool.Name !== name) throw badRequest('Node pool name does not match request path');
  const problem = nodePoolProblem(pool);
  if (problem !== undefined) throw badRequest(`invalid node pool "${pool.Name}": ${problem}`);
  if (isBuiltInNodePool(pool.Name)) throw badRequest(`modifying node pool "${pool.Name}" is not allowed`);
  if (pool.SchedulerConfiguration) throw badRequest('Feature "Node Pools Governance" is unlicensed');
  return pool;
}
