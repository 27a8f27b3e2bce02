import { access, readFile, rm } from 'node:fs/promises';
import { userKey } from '@waybill/journal';
import { isErrno, makeDirectory } from '@waybill/processes';
import { below, ownDirectory } from '../paths/path-name.js';
import { writeDurably } from '../durable-files/durable-file.store.js';
import { loadIdentity } from '../machine/identity/identity.store.js';
import { decodeJoinToken } from './join-token.js';

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
  /** Whether the services admit the machine, and it has to prove itself to NATS. */
  readonly proves: boolean;
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
  const provesFile = below(root, 'joined-by-introduction');
  if (token === undefined) {
    const natsUrl = await joinedEarlier(root, natsFile);
    return { natsUrl, seedFile, proves: await exists(provesFile), ...((await exists(caFile)) && { caFile }) };
  }
  const join = decodeJoinToken(token);
  await makeDirectory(root, { mode: 0o700, otherwise: 'choose another data directory' });
  const proves = 'introduction' in join;
  if (proves) await beIntroduced(root, join.introduction, seedFile, newId);
  else await takeIdentity(root, join, seedFile, newId);
  await (proves ? writeDurably(provesFile, '') : rm(provesFile, { force: true }));
  if (join.ca !== undefined) await writeDurably(caFile, join.ca);
  await writeDurably(natsFile, `${join.nats}\n`);
  return { natsUrl: join.nats, seedFile, proves, ...(join.ca !== undefined && { caFile }) };
}

const exists = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  );

/** Takes the ID and the key that the cluster has made for the machine. */
async function takeIdentity(
  root: string,
  { node, seed }: { readonly node: string; readonly seed: string },
  seedFile: string,
  newId: () => string,
): Promise<void> {
  const { nodeId } = await loadIdentity(below(root, 'agent'), newId, () => node);
  if (nodeId !== node)
    throw new JoinError(`${root} belongs to machine ${nodeId} already: choose another directory with -data-dir`);
  await makeDirectory(below(root, 'credentials'), { mode: 0o700 });
  await writeDurably(seedFile, `${seed}\n`);
}

/** Makes the ID and the key of the machine if it has none, and keeps the token for its first registration. */
async function beIntroduced(root: string, introduction: string, seedFile: string, newId: () => string): Promise<void> {
  await loadIdentity(below(root, 'agent'), newId);
  await userKey(seedFile);
  await writeDurably(below(root, 'agent', 'intro_token.jwt'), introduction);
}

async function joinedEarlier(root: string, natsFile: string): Promise<string> {
  try {
    return (await readFile(natsFile, 'utf8')).trim();
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error;
    throw new JoinError(
      `${root} has not joined a cluster: give it the token that "waybill agent invite" or "waybill node intro create -nats" prints`,
    );
  }
}
