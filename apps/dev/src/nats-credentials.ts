import path from 'node:path';
import { loadIdentity } from '@waybill/agent';
import type { EmbeddedDataPaths } from '@waybill/embedded';
import { userKey } from '@waybill/journal';
import { eventReader, machineUser, natsAccounts, peerRegionUser, serviceUser } from '@waybill/rpc';
import { newUuid } from '@waybill/service';
import { readInvited } from './invite/invited-machines.js';

/** Seeds with which the embedded nats-server lets processes in. */
export interface CredentialFiles {
  readonly services: string;
  readonly agent: string;
}

/**
 * Who may connect to the nats-server of this data directory: the services, its machine, machines that were invited, and
 * readers of events, each with a random key that is made once and kept. Only their owner can read the files, so other users of this computer stay out.
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
