import { TaskConfigError } from './driver.js';

/** What tasks may have at most where the agent is not told otherwise: as container engines give, without raw sockets. */
export const DEFAULT_CAPABILITIES: readonly string[] = [
  'audit_write',
  'chown',
  'dac_override',
  'fowner',
  'fsetid',
  'kill',
  'mknod',
  'net_bind_service',
  'setfcap',
  'setgid',
  'setpcap',
  'setuid',
  'sys_chroot',
];

const named = (capability: string): string => capability.toLowerCase().replace(/^cap_/, '');

/** What is added to the allowed ones, `all` meaning all of them. @throws TaskConfigError */
export function addedCapabilities(added: readonly string[], allowed: readonly string[]): string[] {
  const wanted = [...new Set(added.map(named))];
  if (wanted.includes('all')) return [...allowed];
  const refused = wanted.filter((capability) => !allowed.includes(capability));
  if (refused.length > 0)
    throw new TaskConfigError(`driver does not allow the following capabilities: ${refused.toSorted().join(', ')}`);
  return wanted;
}

/**
 * What a task may have at most, whoever it is: the usual ones as far as they are allowed, with what it adds, without what
 * it drops. What is added wins over what is dropped.
 * @throws TaskConfigError
 */
export function boundingCapabilities(
  added: readonly string[],
  dropped: readonly string[],
  allowed: readonly string[],
): string[] {
  const drops = dropped.map(named);
  const usual = drops.includes('all') ? [] : DEFAULT_CAPABILITIES.filter((one) => !drops.includes(one));
  const kept = usual.filter((one) => allowed.includes(one));
  return [...new Set([...kept, ...addedCapabilities(added, allowed)])].toSorted();
}
