import { DEFAULT_CLUSTER } from '@waybill/model';
import { consulHeaders } from './consul.js';
import { type CallServer, jsonOf, memberOf, ServerAwayError, textOf } from './server-call.js';
import type { LoginProduct } from './wanted-login.js';

const LOOK_TIMEOUT_MS = 5_000;
/** The longest value of an attribute. Names of clusters and machines are shorter. */
const MAX_VALUE_BYTES = 256;

/** Returns the beginning of attributes about a cluster. The default cluster is not named in it. */
const prefixOf = (product: LoginProduct, cluster: string): string =>
  cluster === DEFAULT_CLUSTER ? product : `${product}.${cluster}`;

/** Looks at Vault. A sealed one cannot be used. @throws ServerAwayError, ServerRefusedError */
export async function lookAtVault(call: CallServer, cluster: string): Promise<Record<string, string>> {
  const answer = await call({ method: 'GET', path: '/v1/sys/seal-status', timeoutMs: LOOK_TIMEOUT_MS });
  const status = jsonOf(answer, 'Vault');
  if (memberOf(status, 'sealed') !== false) throw new ServerAwayError('Vault is sealed');
  const prefix = prefixOf('vault', cluster);
  return withValues({
    [`${prefix}.accessible`]: 'true',
    [`${prefix}.version`]: textOf(memberOf(status, 'version')),
    [`${prefix}.cluster_id`]: textOf(memberOf(status, 'cluster_id')),
    [`${prefix}.cluster_name`]: textOf(memberOf(status, 'cluster_name')),
  });
}

/**
 * Looks at the agent of Consul. @param token for `agent:read`, empty if everybody has it
 * @throws ServerAwayError, ServerRefusedError
 */
export async function lookAtConsul(call: CallServer, cluster: string, token: string): Promise<Record<string, string>> {
  const answer = await call({
    method: 'GET',
    path: '/v1/agent/self',
    headers: consulHeaders(token),
    timeoutMs: LOOK_TIMEOUT_MS,
  });
  const config = memberOf(jsonOf(answer, 'Consul'), 'Config');
  const prefix = prefixOf('consul', cluster);
  const server = memberOf(config, 'Server');
  return withValues({
    [`${prefix}.version`]: textOf(memberOf(config, 'Version')),
    [`${prefix}.revision`]: textOf(memberOf(config, 'Revision')),
    [`${prefix}.datacenter`]: textOf(memberOf(config, 'Datacenter')),
    [`${prefix}.server`]: typeof server === 'boolean' ? String(server) : '',
    [`unique.${prefix}.name`]: textOf(memberOf(config, 'NodeName')),
  });
}

/**
 * Returns the attributes that have a value (AG-25). An attribute whose value is too long is left out too: the servers
 * store the attributes of a machine, and Vault and Consul are not the machine.
 */
const withValues = (attributes: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(attributes).filter(([, value]) => value !== '' && Buffer.byteLength(value) <= MAX_VALUE_BYTES),
  );
