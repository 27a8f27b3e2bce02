import { readdir, readFile } from 'node:fs/promises';
import { errorText } from '@waybill/model';
import { isErrno } from '@waybill/processes';
import { below, entryName } from '../../paths/path-name.js';
import { type NetworkList, parseNetworkList } from './network-list.js';

const SUFFIXES = ['.conf', '.conflist', '.json'];

export interface ConfiguredNetworks {
  /** The networks in the order of their files' names, each name once. */
  readonly networks: readonly NetworkList[];
  /** Files that are invalid or repeat an earlier network, with the reason. */
  readonly passedOver: readonly string[];
  /** The number of files. */
  readonly files: number;
}

/** Returns the networks that an administrator has put into a directory (NW-54). A missing directory has none. */
export async function configuredNetworks(directory: string): Promise<ConfiguredNetworks> {
  const names = (await entriesOf(directory)).filter((name) => SUFFIXES.some((suffix) => name.endsWith(suffix)));
  const networks: NetworkList[] = [];
  const passedOver: string[] = [];
  for (const name of names.toSorted())
    try {
      const network = parseNetworkList(await readFile(below(directory, entryName(name)), 'utf8'));
      if (networks.some((one) => one.name === network.name))
        passedOver.push(`${name}: another file has the network "${network.name}"`);
      else networks.push(network);
    } catch (error) {
      passedOver.push(`${name}: ${errorText(error).replaceAll(/\s+/g, ' ')}`);
    }
  return { networks, passedOver, files: names.length };
}

async function entriesOf(directory: string): Promise<string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    if (isErrno(error, 'ENOENT') || isErrno(error, 'ENOTDIR')) return [];
    throw error;
  }
}

/** Returns the network of mode `cni/<name>` (NW-60). @throws Error that says what is missing */
export async function networkNamed(name: string, directory: string): Promise<NetworkList> {
  const { networks, files } = await configuredNetworks(directory);
  if (files === 0) throw new Error(`no CNI network config found in ${directory}`);
  const found = networks.find((network) => network.name === name);
  if (!found) throw new Error(`failed to load CNI config: CNI network config not found for name "${name}"`);
  return found;
}
