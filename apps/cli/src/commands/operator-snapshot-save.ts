import { existsSync } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { sha256, unpackArchive } from '@waybill/model/snapshot-archive';
import { headerText } from '../server/api-client.js';
import type { Call, ServerCommand } from '../command-spec.js';
import { CommandFailure, failed } from '../failure.js';
import { SNAPSHOT_PATH } from '../operator/snapshot-file.js';

/** Saves the cluster's state to a new file, which gets its name once it is verified (OP-50). */
export const command: ServerCommand = {
  usage: '[<file>]',
  description:
    'Saves the state of the whole cluster at one index to a file for `operator snapshot restore`. The file gets ' +
    'its name once it is complete and verified. The default name is nomad-state-<yyyymmdd>-<unix>.snap.\n\nNeeds ' +
    'the capability operator:snapshot-save.',
  flags: [{ name: 'stale', kind: 'switch', help: 'Any server may answer, which is always the case here.' }],
  takes: { min: 0, max: 1, otherwise: 'This command takes either no arguments or one: [<file>]' },
  withoutNamespace: true,
  run,
};

async function run({ api, args, flags, clock, terminal }: Call): Promise<number> {
  const file = args[0] ?? nameAt(clock.nowMs());
  if (existsSync(file)) throw new CommandFailure(`Destination file already exists: "${file}"`);
  const archive = await fetched(api, flags.on('stale'));
  const beside = `${file}.tmp`;
  try {
    await writeFile(beside, archive, { mode: 0o600, flag: 'wx' });
    await rename(beside, file);
  } catch (error) {
    await rm(beside, { force: true });
    throw failed('writing snapshot file', error);
  }
  terminal.print(`State file written to ${file}`);
  return 0;
}

/** Downloads the snapshot and compares it with the digest that the server sent (OP-40). */
async function fetched(api: Call['api'], stale: boolean): Promise<Buffer> {
  try {
    const { headers, body } = await api.stream(SNAPSHOT_PATH, stale ? { stale } : {});
    const archive = await buffer(body);
    if (headerText(headers, 'digest') !== `sha-256=${sha256(archive, 'base64')}`)
      throw new CommandFailure('Error verifying snapshot: its digest is not the one that the server named');
    await unpackArchive(archive);
    return archive;
  } catch (error) {
    throw failed('saving snapshot', error);
  }
}

/** Returns a file name with the date in UTC. */
const nameAt = (nowMs: number): string =>
  `nomad-state-${new Date(nowMs).toISOString().slice(0, 10).replaceAll('-', '')}-${Math.floor(nowMs / 1000)}.snap`;
