import type { Allocation } from '@waybill/model';
import { type AllocFileInfo, listFiles, type UserRpc } from '@waybill/rpc';
import { askAgent } from './agent-call.js';

/** The largest number of entries of one directory that are listed. */
const MAX_ENTRIES = 100_000;

/** Lists a directory of an allocation by name, from the agent that has it. @throws Refusal not-found (API-197) */
export async function listAllocFiles(
  rpc: UserRpc,
  { ID: AllocID, NodeID: target }: Pick<Allocation, 'ID' | 'NodeID'>,
  Path: string,
): Promise<AllocFileInfo[]> {
  const files: AllocFileInfo[] = [];
  for (let More = true; More && files.length < MAX_ENTRIES;) {
    const After = files.at(-1)?.Name ?? '';
    const page = await askAgent(rpc, listFiles, { AllocID, Path, After }, { target });
    for (const item of page.Files) files.push(item);
    More = page.More && page.Files.length > 0;
  }
  return files;
}
