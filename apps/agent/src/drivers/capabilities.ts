import { TaskConfigError } from './driver.js';

/** The largest set of capabilities that tasks may have by default: that of container engines, without raw sockets. */
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

const capabilityName = (capability: string): string => capability.toLowerCase().replace(/^cap_/, '');

/**
 * Returns the added capabilities; `all` stands for all allowed ones.
 * @throws TaskConfigError for one that is not allowed
 */
export function addedCapabilities(added: readonly string[], allowed: readonly string[]): string[] {
  const wanted = [...new Set(added.map(capabilityName))];
  if (wanted.includes('all')) return [...allowed];
  const refused = wanted.filter((capability) => !allowed.includes(capability));
  if (refused.length > 0)
    throw new TaskConfigError(`driver does not allow the following capabilities: ${refused.toSorted().join(', ')}`);
  return wanted;
}

/**
 * Returns the largest set of capabilities that a task of any user may have: the default ones that are allowed, without
 * the dropped ones, plus the added ones. An added capability wins over a dropped one.
 * @throws TaskConfigError
 */
export function boundingCapabilities(
  added: readonly string[],
  dropped: readonly string[],
  allowed: readonly string[],
): string[] {
  const drops = dropped.map(capabilityName);
  const usual = drops.includes('all') ? [] : DEFAULT_CAPABILITIES.filter((one) => !drops.includes(one));
  const kept = usual.filter((one) => allowed.includes(one));
  return [...new Set([...kept, ...addedCapabilities(added, allowed)])].toSorted();
}
