import { existsSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import path from 'node:path';
import { encodeJoinToken } from '@waybill/agent';
import { changeNatsAccounts, embeddedDataPaths, NotRunningError, reachedAt, urlHost } from '@waybill/embedded';
import { connect, newUserKey } from '@waybill/journal';
import { newUuid } from '@waybill/service';
import { natsCredentials } from '../nats-credentials.js';
import { changeInvited } from './invited-machines.js';

/** nats-server reads its list again within milliseconds. */
const LET_IN_MS = 5_000;

export interface Invitation {
  readonly nodeId: string;
  readonly token: string;
  /** Where the machine will look for the cluster. */
  readonly natsUrl: string;
  readonly thisComputerOnly: boolean;
  readonly isEncrypted: boolean;
}

/**
 * Makes id and key of one more machine and has the nats-server of the data directory let it in, proven by a connection.
 * The key is nowhere but in the token.
 * @param advertised address at which the machine reaches this computer; undefined: what nats-server listens on says
 * @throws NotRunningError
 */
export async function inviteMachine(dataDir: string, advertised: string | undefined): Promise<Invitation> {
  const paths = embeddedDataPaths(dataDir);
  if (!existsSync(paths.nats)) throw new NotRunningError(paths.root); // so that nothing is made there
  // First without a change: what does not run is not invited to.
  await changeNatsAccounts(paths.nats, (await natsCredentials(paths)).accounts);
  const [nodeId, key] = [newUuid(), newUserKey()];
  await changeInvited(paths.credentials, (before) => ({
    ...before,
    machines: [...before.machines, { nodeId, publicKey: key.publicKey }],
  }));
  const { host, port, caFile } = await changeNatsAccounts(paths.nats, (await natsCredentials(paths)).accounts);
  await changeInvited(paths.credentials, (before) => ({ ...before, natsPort: port }));
  const scheme = caFile === undefined ? 'nats' : 'tls';
  const proof = { seed: key.seed, ...(caFile !== undefined && { caFile }) };
  await proveLetIn(paths.credentials, `${scheme}://${urlHost(reachedAt(host))}:${port}`, nodeId, proof);
  const address = advertised ?? addressOf(host);
  const natsUrl = `${scheme}://${urlHost(address)}:${port}`;
  return {
    nodeId,
    natsUrl,
    token: encodeJoinToken({
      nats: natsUrl,
      node: nodeId,
      seed: key.seed,
      ...(caFile !== undefined && { ca: await readFile(caFile, 'utf8') }),
    }),
    isEncrypted: caFile !== undefined,
    thisComputerOnly: isLoopback(host),
  };
}

const isLoopback = (host: string): boolean => host.startsWith('127.') || host === '::1';

/** What listens on all addresses is reached at the first that is not the loopback. */
function addressOf(host: string): string {
  if (reachedAt(host) === host) return host;
  const family = host === '::' ? 'IPv6' : 'IPv4';
  const own = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return own.find((one) => !one.internal && one.family === family)?.address ?? reachedAt(host);
}

/** What the machine proves itself with, and what it believes the server by. */
interface Proof {
  readonly seed: string;
  readonly caFile?: string;
}

async function proveLetIn(credentials: string, url: string, nodeId: string, proof: Proof): Promise<void> {
  const file = path.join(credentials, `${nodeId}.seed`);
  await writeFile(file, proof.seed, { mode: 0o600, flag: 'wx' });
  try {
    const tls = { caFile: proof.caFile ?? '' };
    const link = await connect({ url, name: 'invite', credentialsFile: file, tls, firstConnectMs: LET_IN_MS });
    await link.close();
  } finally {
    await rm(file, { force: true });
  }
}
