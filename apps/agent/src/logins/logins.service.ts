import { readFile } from 'node:fs/promises';
import { errorText } from '@waybill/model';
import type { ServiceContext } from '@waybill/service';
import type { MachineIdentities } from '../identities/machine-identities.js';
import type { LocalNode } from '../machine/node/local-node.js';
import { Consul } from './consul.js';
import { LoginFingerprints, type LookedAt } from './login-fingerprints.js';
import { LoginReads } from './login-reads.js';
import { type LoginServer, MachineLogins } from './machine-logins.js';
import { callsTo } from './server-call.transport.js';
import { lookAtConsul, lookAtVault } from './server-looks.js';
import { ServerAwayError } from './server-call.js';
import { Vault } from './vault.js';

/** Logins are the parts of this machine for Vault and Consul. */
export interface Logins {
  readonly logins: MachineLogins;
  /** The reads of templates with the tokens of their tasks. */
  readonly reads: LoginReads;
  readonly fingerprints: LoginFingerprints;
}

/** Makes the parts for the clusters of the settings `WAYBILL_AGENT_VAULT` and `WAYBILL_AGENT_CONSUL` (AU-164). */
export function loginsOf(
  { settings, clock, timers, random, logger }: ServiceContext,
  { node, identities }: { readonly node: LocalNode; readonly identities: MachineIdentities },
): Logins {
  const looks: LookedAt[] = [];
  const vault = new Map<string, LoginServer>();
  for (const [cluster, given] of Object.entries(settings.WAYBILL_AGENT_VAULT)) {
    const call = callsTo(given, 'Vault');
    const { address, namespace, auth_path: authPath, role } = given;
    looks.push({ name: `Vault "${cluster}"`, look: () => lookAtVault(call, cluster) });
    vault.set(cluster, {
      address,
      namespace,
      call,
      service: (wanted) =>
        new Vault({ call, authPath, role: wanted.role || role, namespace: wanted.namespace || namespace }),
    });
  }
  const consul = new Map<string, LoginServer>();
  for (const [cluster, given] of Object.entries(settings.WAYBILL_AGENT_CONSUL)) {
    const call = callsTo(given, 'Consul');
    const { address, namespace, partition, auth_method: authMethod, token_file } = given;
    looks.push({
      name: `Consul "${cluster}"`,
      look: async () => lookAtConsul(call, cluster, await tokenIn(token_file)),
    });
    consul.set(cluster, {
      address,
      namespace,
      call,
      service: (wanted, requestedBy) =>
        new Consul({
          call,
          clock,
          authMethod,
          namespace: wanted.namespace || namespace,
          partition: wanted.partition || partition,
          requestedBy,
        }),
    });
  }
  const logins = new MachineLogins({ servers: { vault, consul }, identities, clock, timers, random, logger });
  return {
    logins,
    reads: new LoginReads({ logins, timers, random, nowMs: () => clock.nowMs() }),
    fingerprints: new LoginFingerprints({ servers: looks, node, timers, random, logger }),
  };
}

async function tokenIn(file: string): Promise<string> {
  if (file === '') return '';
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (error) {
    throw new ServerAwayError(`the token_file of WAYBILL_AGENT_CONSUL cannot be read: ${errorText(error)}`);
  }
}
