import type { TaskDns } from '../drivers/driver.js';

/**
 * Returns the text of a task's /etc/resolv.conf (NW-91).
 * @param machine the machine's file, which provides the settings that the group does not set
 */
export function resolvConf({ servers, searches, options }: TaskDns, machine: string): string {
  const lines = machine.split('\n').map((line) => line.trim().split(/\s+/));
  const machineValues = (keyword: string): string[] =>
    lines.filter(([first]) => first === keyword).flatMap(([, ...rest]) => rest);
  const ownOrMachineValues = (own: readonly string[], keyword: string): readonly string[] =>
    own.length > 0 ? own : machineValues(keyword);
  const searched = ownOrMachineValues(searches, 'search');
  const opted = ownOrMachineValues(options, 'options');
  return [
    ...ownOrMachineValues(servers, 'nameserver').map((server) => `nameserver ${server}`),
    ...(searched.length > 0 ? [`search ${searched.join(' ')}`] : []),
    ...(opted.length > 0 ? [`options ${opted.join(' ')}`] : []),
    '',
  ].join('\n');
}

/**
 * Returns the text of /etc/hosts for a task with its own host name (NW-26, NW-92).
 * @param address empty if it has none
 * @param more lines that its job adds
 */
export const hostsFile = (hostname: string, address: string, more: readonly string[] = []): string =>
  [
    '127.0.0.1 localhost',
    '::1 localhost ip6-localhost ip6-loopback',
    `${address || '127.0.1.1'} ${hostname}`,
    ...more,
    '',
  ].join('\n');
