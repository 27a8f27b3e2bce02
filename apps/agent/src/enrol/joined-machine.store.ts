import { access, readFile } from 'node:fs/promises';
import { isErrno, makeDirectory } from '@waybill/processes';
import { below, ownDirectory } from '../paths/path-name.js';
import { writeDurably } from '../durable-files/durable-file.store.js';
import { loadIdentity } from '../machine/identity/identity.store.js';
import { decodeJoinToken, type Join } from './join-token.js';

/** JoinError says that a machine cannot join as requested. The message says what to do. */
export class JoinError extends Error {
  override readonly name = 'JoinError';
}

/** JoinedMachine contains the start parameters of the agent of a machine that has joined. */
export interface JoinedMachine {
  readonly natsUrl: string;
  readonly seedFile: string;
  /** The authority for NATS; absent if the system's authorities count. */
  readonly caFile?: string;
}

/**
 * Makes the directory that of the token's machine, or returns the parameters of an earlier join. Only the owner can
 * read it.
 * @param token undefined if the machine has joined earlier
 * @throws JoinError, JoinTokenError
 */
export async function joinMachine(
  dataDir: string,
  token: string | undefined,
  newId: () => string,
): Promise<JoinedMachine> {
  const root = ownDirectory(dataDir);
  const seedFile = below(root, 'credentials', 'agent.seed');
  const natsFile = below(root, 'joined-nats-url');
  const caFile = below(root, 'credentials', 'nats-ca.pem');
  if (token === undefined) {
    const natsUrl = await joinedEarlier(root, natsFile);
    return { natsUrl, seedFile, ...((await exists(caFile)) && { caFile }) };
  }
  const join = decodeJoinToken(token);
  await makeDirectory(root, { mode: 0o700, otherwise: 'choose another data directory' });
  await takeIdentity(root, join, newId);
  await makeDirectory(below(root, 'credentials'), { mode: 0o700 });
  await writeDurably(seedFile, `${join.seed}\n`);
  if (join.ca !== undefined) await writeDurably(caFile, join.ca);
  await writeDurably(natsFile, `${join.nats}\n`);
  return { natsUrl: join.nats, seedFile, ...(join.ca !== undefined && { caFile }) };
}

const exists = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  );

async function takeIdentity(root: string, { node }: Join, newId: () => string): Promise<void> {
  const { nodeId } = await loadIdentity(below(root, 'agent'), newId, () => node);
  if (nodeId !== node)
    throw new JoinError(`${root} belongs to machine ${nodeId} already: choose another directory with -data-dir`);
}

async function joinedEarlier(root: string, natsFile: string): Promise<string> {
  try {
    return (await readFile(natsFile, 'utf8')).trim();
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error;
    throw new JoinError(`${root} has not joined a cluster: give it the token that "waybill agent invite" prints`);
  }
}
