import type { JobName } from '../../api/queries.js';

/** A job in an address, `id@namespace`, as the command line writes it. IDs may have an @ themselves; namespaces do not. */
export const jobAddress = ({ id, namespace }: JobName): string => `${id}@${namespace}`;

export function readJobAddress(address: string): JobName {
  const at = address.lastIndexOf('@');
  return at < 0
    ? { id: address, namespace: 'default' }
    : { id: address.slice(0, at), namespace: address.slice(at + 1) };
}
