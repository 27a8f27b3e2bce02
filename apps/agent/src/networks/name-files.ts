import type { TaskDns } from '../drivers/driver.js';

/**
 * What a task reads as /etc/resolv.conf (NW-91). @param machine the file of the machine: what the group does not say is
 * taken from there
 */
export function resolvConf({ servers, searches, options }: TaskDns, machine: string): string {
  const lines = machine.split('\n').map((line) => line.trim().split(/\s+/));
  const named = (keyword: string): string[] =>
    lines.filter(([first]) => first === keyword).flatMap(([, ...rest]) => rest);
  const chosen = (own: readonly string[], keyword: string): readonly string[] =>
    own.length > 0 ? own : named(keyword);
  const searched = chosen(searches, 'search');
  const opted = chosen(options, 'options');
  return [
    ...chosen(servers, 'nameserver').map((server) => `nameserver ${server}`),
    ...(searched.length > 0 ? [`search ${searched.join(' ')}`] : []),
    ...(opted.length > 0 ? [`options ${opted.join(' ')}`] : []),
    '',
  ].join('\n');
}

/**
 * What a task with a host name of its own reads as /etc/hosts (NW-26, NW-92). @param address empty: it has none
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
