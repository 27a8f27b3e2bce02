import { readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { isErrno, makeDirectory, takeLock } from '@waybill/processes';
import { z } from 'zod';

/**
 * The largest number of machines. More would make the server's list of users unwieldy; such a cluster has a nats-server
 * of its own.
 */
const MAX_MACHINES = 1_000;

const INVITED = z.object({
  /** The port where the machines look for nats-server. nats-server keeps it. */
  natsPort: z.number().int().min(0).max(65_535),
  machines: z.array(z.object({ nodeId: z.uuid(), publicKey: z.string().regex(/^U[A-Z2-7]{55}$/) })),
});

/**
 * Invited lists the machines that may connect to the nats-server of a data directory, besides its own machine. It
 * contains no secret.
 */
export type Invited = z.infer<typeof INVITED>;

const NONE: Invited = { natsPort: 0, machines: [] };
const fileIn = (credentials: string): string => path.join(credentials, 'machines.json');

/** @param credentials the directory @throws if the file is damaged */
export async function readInvited(credentials: string): Promise<Invited> {
  const file = fileIn(credentials);
  try {
    return INVITED.parse(JSON.parse(await readFile(file, 'utf8')));
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return NONE;
    throw new Error(`${file} cannot be read: restore it, or remove it and invite the machines again`, { cause: error });
  }
}

/**
 * Replaces the list by the result of `change`. Of several calls at the same time, one succeeds and the others are
 * refused. @throws LockHeldError
 */
export async function changeInvited(credentials: string, change: (before: Invited) => Invited): Promise<void> {
  await makeDirectory(credentials, { mode: 0o700 });
  const file = fileIn(credentials);
  const unlock = await takeLock(`${file}.lock`);
  try {
    const after = change(await readInvited(credentials));
    if (after.machines.length > MAX_MACHINES)
      throw new Error(`${MAX_MACHINES} machines are invited already: take some out of ${file}`);
    await writeFile(`${file}.new`, `${JSON.stringify(after, null, 2)}\n`, { mode: 0o600 });
    await rename(`${file}.new`, file);
  } finally {
    await unlock();
  }
}
