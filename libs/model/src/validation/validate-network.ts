import { MAX_PORT_LABEL_BYTES, nameLengthErrors } from '../limits/name-limits.js';
import { cutText } from '../limits/text-limits.js';
import { nestedList } from './message-list.js';
import type { TaskGroup } from '../jobs/task-group.js';
import { hasControlCharacters } from './safe-name.js';
import type { NetworkResource, Port } from '../nodes/resources.js';

const MAX_PORT = 65_535;
const DNS_NAME =
  /^(?=.{1,253}$)[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$/;

export const isDnsName = (text: string): boolean => DNS_NAME.test(text);

/**
 * Returns the errors of the networks of a group and of its tasks (API-339, NW-12), as one message with its prefix, or
 * none. Only old jobs have networks of tasks.
 */
export function validateNetworks({ Networks: networks, Tasks }: Pick<TaskGroup, 'Networks' | 'Tasks'>): string[] {
  const labels = new Map<string, string>();
  const staticPorts = new Map<string, string>();
  const errors = (networks ?? []).flatMap((network) => [
    ...[...(network.ReservedPorts ?? []), ...(network.DynamicPorts ?? [])].flatMap((port) => [
      ...labelErrors(port, labels),
      ...mappingErrors(port, network.Mode),
    ]),
    ...(network.ReservedPorts ?? []).flatMap((port) => staticErrors(port, staticPorts)),
    ...addressErrors(network),
  ]);
  for (const task of Tasks) {
    const ofTask = new Map(labels);
    for (const network of task.Resources.Networks ?? [])
      for (const item of taskNetworkErrors(task.Name, network, ofTask, staticPorts)) errors.push(item);
  }
  return errors.length === 0 ? [] : [`Task group network validation failed: ${nestedList(errors)}`];
}

/** Returns the errors of a task's own network. Tasks may use the same labels, but not the same static ports. */
function taskNetworkErrors(
  task: string,
  network: NetworkResource,
  labels: Map<string, string>,
  staticPorts: Map<string, string>,
): string[] {
  const wrongMode = network.Mode !== '' && network.Mode !== 'host';
  return [
    ...(wrongMode ? [`Task ${task} uses network mode "${network.Mode}" in resources, use the group's network`] : []),
    ...[...(network.ReservedPorts ?? []), ...(network.DynamicPorts ?? [])].flatMap((port) => [
      ...labelErrors(port, labels, task),
      ...mappingErrors(port, network.Mode),
    ]),
    // The host network of a task's port does not count: it is a port of the default network.
    ...(network.ReservedPorts ?? []).flatMap((port) =>
      staticErrors({ ...port, HostNetwork: 'default' }, staticPorts, task),
    ),
  ];
}

/** Longest part of an unknown mode that a warning shows, in UTF-16 units. */
const MAX_SHOWN_MODE = 64;
const NETWORK_MODES: readonly string[] = ['', 'host', 'none', 'bridge', 'driver'];
/** Built-in drivers that make no network for a task alone (NW-21), as the mode `driver` needs. */
const WITHOUT_OWN_NETWORK: readonly string[] = ['raw_exec', 'exec', 'java', 'qemu'];

/** Returns the warnings about network modes that no machine offers (NW-24) or that a built-in driver lacks (NW-22). */
export function networkWarnings({ Networks, Tasks }: Pick<TaskGroup, 'Networks' | 'Tasks'>): string[] {
  return (Networks ?? []).flatMap(({ Mode }) => {
    if (!NETWORK_MODES.includes(Mode) && !/^cni\/./.test(Mode))
      return [`unknown network mode ${JSON.stringify(cutText(Mode, MAX_SHOWN_MODE))}`];
    if (Mode !== 'driver') return [];
    return Tasks.filter(({ Driver }) => WITHOUT_OWN_NETWORK.includes(Driver)).map(
      ({ Name, Driver }) => `task "${Name}" cannot run: driver "${Driver}" does not support network mode "driver"`,
    );
  });
}

function labelErrors(port: Port, labels: Map<string, string>, owner = OF_GROUP): string[] {
  const holder = labels.get(port.Label);
  labels.set(port.Label, nameOf(port, owner));
  if (port.Label.includes('=') || hasControlCharacters(port.Label))
    return [`Port label ${JSON.stringify(port.Label)} cannot include "=" or control characters`]; // part of a variable's name
  return [
    ...(holder === undefined ? [] : [`Port label ${port.Label} already in use by ${holder}`]),
    ...nameLengthErrors('Port label', port.Label, MAX_PORT_LABEL_BYTES),
  ];
}

function mappingErrors(port: Port, mode: string): string[] {
  const errors: string[] = [];
  if (port.To < -1) errors.push(`Port "${port.Label}" cannot be mapped to negative value ${port.To}`);
  if (port.To > MAX_PORT) {
    errors.push(`Port "${port.Label}" cannot be mapped to a port (${port.To}) greater than 65535`);
  }
  if (port.IgnoreCollision && mode !== '' && mode !== 'host') {
    errors.push(`Port "${port.Label}" collision may not be ignored on non-host network mode "${mode}"`);
  }
  return errors;
}

function staticErrors(port: Port, taken: Map<string, string>, owner = OF_GROUP): string[] {
  if (port.Value > MAX_PORT) return [`Port ${port.Label} (${port.Value}) cannot be greater than 65535`];
  const place = `${port.HostNetwork}:${port.Value}`;
  const holder = taken.get(place);
  taken.set(place, nameOf(port, owner));
  if (holder === undefined || port.IgnoreCollision) return [];
  return [`Static port ${port.Value} already reserved by ${holder}`];
}

function addressErrors(network: NetworkResource): string[] {
  const errors: string[] = [];
  // A hostname with a variable is known only on the node.
  if (network.Hostname !== '' && !network.Hostname.includes('${') && !isDnsName(network.Hostname)) {
    errors.push('Hostname is not a valid DNS name');
  }
  for (const [key, value] of Object.entries(network.CNI?.Args ?? {})) {
    if (key.includes(';')) errors.push(`invalid ';' character in CNI arg key "${key}"`);
    if (value.includes(';')) errors.push(`invalid ';' character in CNI arg value "${value}"`);
  }
  return errors;
}

/** The owner of a group's ports in messages. The owner of a task's ports is the task. */
const OF_GROUP = 'taskgroup network';

function nameOf(port: Port, owner: string): string {
  return `${owner}:${port.Label}`;
}
