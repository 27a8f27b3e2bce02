import path from 'node:path';
import { loadIdentity } from '@waybill/agent';
import type { EmbeddedDataPaths } from '@waybill/embedded';
import { userKey } from '@waybill/journal';
import { eventReader, machineUser, natsAccounts, peerRegionUser, serviceUser } from '@waybill/rpc';
import { newUuid } from '@waybill/service';
import { readInvited } from './invite/invited-machines.js';

/** CredentialFiles are the files of the seeds with which processes authenticate to the embedded nats-server. */
export interface CredentialFiles {
  readonly services: string;
  readonly agent: string;
}

/**
 * Returns the users that may connect to the nats-server of this data directory: the services, its machine, invited
 * machines, and readers of events. Each has a random key that is made once and kept. Only their owner can read the
 * files, so other users of this computer cannot connect.
 */
export async function natsCredentials(paths: EmbeddedDataPaths) {
  const file = (name: string): string => path.join(paths.credentials, `${name}.seed`);
  const files: CredentialFiles = { services: file('services'), agent: file('agent') };
  const { nodeId } = await loadIdentity(paths.agent, newUuid);
  const { natsPort: invitedAtPort, machines } = await readInvited(paths.credentials);
  const accounts = natsAccounts(
    [
      serviceUser(await userKey(files.services)),
      machineUser(await userKey(files.agent), nodeId),
      ...machines.map((machine) => machineUser(machine.publicKey, machine.nodeId)),
      peerRegionUser(await userKey(file('regions'))), // for the --peer of another region
    ],
    [eventReader(await userKey(file('events')))], // for people's own programs: docs/events.md
  );
  return { files, accounts, invitedAtPort };
}
