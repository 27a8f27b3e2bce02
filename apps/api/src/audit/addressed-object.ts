import { parseJobPath } from '../jobs/job-path.js';

/** AddressedObject is the object that the path of a request names. */
export interface AddressedObject {
  readonly kind: string;
  readonly namespace?: string;
  readonly id: string;
}

interface Place {
  /** The parts of the path before the name. */
  readonly prefix: string;
  readonly kind: string;
  readonly inNamespace?: true;
  /** Words that may stand in the place of a name. */
  readonly words?: readonly string[];
}

/** A longer prefix stands before a shorter one. */
const PLACES: readonly Place[] = [
  { prefix: '/v1/job/', kind: 'job', inNamespace: true },
  { prefix: '/v1/allocation/', kind: 'alloc', inNamespace: true },
  { prefix: '/v1/client/allocation/', kind: 'alloc', inNamespace: true },
  { prefix: '/v1/evaluation/', kind: 'eval', inNamespace: true },
  { prefix: '/v1/deployment/', kind: 'deployment', inNamespace: true },
  { prefix: '/v1/volume/csi/', kind: 'volume', inNamespace: true },
  { prefix: '/v1/volume/host/', kind: 'host-volume', inNamespace: true },
  { prefix: '/v1/plugin/csi/', kind: 'plugin' },
  { prefix: '/v1/service/', kind: 'service', inNamespace: true },
  { prefix: '/v1/var/', kind: 'var', inNamespace: true },
  { prefix: '/v1/node/pool/', kind: 'node-pool' },
  { prefix: '/v1/node/', kind: 'node' },
  { prefix: '/v1/namespace/', kind: 'namespace' },
  { prefix: '/v1/acl/policy/', kind: 'policy', words: ['self'] },
  { prefix: '/v1/acl/role/name/', kind: 'role' },
  { prefix: '/v1/acl/role/', kind: 'role' },
  { prefix: '/v1/acl/token/', kind: 'token', words: ['self', 'onetime'] },
  { prefix: '/v1/acl/auth-method/', kind: 'auth-method' },
  { prefix: '/v1/acl/binding-rule/', kind: 'binding-rule' },
];
/** The action on a deployment stands before its ID. */
const DEPLOYMENT_VERBS = ['allocations', 'fail', 'pause', 'promote', 'unblock', 'allocation-health'];

/**
 * Returns the object that a path names, with the kinds of `/v1/waybill/log` where it has them. The result is undefined
 * if the path names none (AU-275). The function is pure.
 */
export function addressedObject(path: string, namespace: string): AddressedObject | undefined {
  const place = PLACES.find(({ prefix }) => path.startsWith(prefix));
  if (!place) return undefined;
  const id = nameIn(place.kind, decoded(path.slice(place.prefix.length)));
  if (id === '' || place.words?.includes(id)) return undefined;
  return { kind: place.kind, ...(place.inNamespace && { namespace }), id };
}

/** Returns the name. The names of jobs and variables may contain slashes. */
function nameIn(kind: string, rest: string): string {
  if (kind === 'job') return parseJobPath(rest).id;
  if (kind === 'var') return rest;
  const [first = '', second] = rest.split('/');
  return kind === 'deployment' && second !== undefined && DEPLOYMENT_VERBS.includes(first) ? second : first;
}

/** Decodes a text. A path with an invalid percent-encoding is shown as it is. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
