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

/** The longest wait for nats-server to accept the machine. It reads its list again within milliseconds. */
const LET_IN_MS = 5_000;

export interface Invitation {
  readonly nodeId: string;
  readonly token: string;
  /** The URL at which the machine will look for the cluster. */
  readonly natsUrl: string;
  readonly thisComputerOnly: boolean;
  readonly isEncrypted: boolean;
}

/**
 * Makes an ID and a key for one more machine and registers them with the nats-server of the data directory. A
 * connection then proves that nats-server accepts the key. Only the token contains the key.
 * @param advertised the address at which the machine reaches this computer; if undefined, the listening address of
 * nats-server decides
 * @throws NotRunningError
 */
export async function inviteMachine(dataDir: string, advertised: string | undefined): Promise<Invitation> {
  const paths = embeddedDataPaths(dataDir);
  if (!existsSync(paths.nats)) throw new NotRunningError(paths.root); // so that nothing is made there
  // The first call changes nothing: it fails if nats-server does not run, before a machine is added.
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

/**
 * Returns an address for a server. If the server listens on all addresses, it is the first one that is not the
 * loopback.
 */
function addressOf(host: string): string {
  if (reachedAt(host) === host) return host;
  const family = host === '::' ? 'IPv6' : 'IPv4';
  const own = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return own.find((one) => !one.internal && one.family === family)?.address ?? reachedAt(host);
}

/** Proof has the machine's key and the authority by which the machine checks the server. */
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
