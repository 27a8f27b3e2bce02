/** ObjectName is the name of an object that belongs to a namespace, such as a job, a variable or a volume. */
export interface ObjectName {
  readonly namespace: string;
  readonly id: string;
}

/**
 * Returns the name of an object in an address, `id@namespace`, as the command line writes it. IDs may contain an @;
 * namespaces do not.
 */
export const objectAddress = ({ id, namespace }: ObjectName): string => `${id}@${namespace}`;

export function readObjectAddress(address: string): ObjectName {
  const at = address.lastIndexOf('@');
  return at < 0
    ? { id: address, namespace: 'default' }
    : { id: address.slice(0, at), namespace: address.slice(at + 1) };
}
