import type { Job } from '../jobs/job.js';
import type { Namespace } from './namespace.js';

/** Mode of a network that does not set one. */
const DEFAULT_NETWORK_MODE = 'host';

/** Returns the problems of a job that its namespace does not allow (API-346, OP-182). Empty if there are none. */
export function namespaceLimitProblems(job: Job, { Name, Capabilities }: Namespace): string[] {
  if (!Capabilities) return [];
  const drivers = job.TaskGroups.flatMap((group) => group.Tasks.map((task) => task.Driver));
  const modes = job.TaskGroups.flatMap((group) =>
    (group.Networks ?? []).map(({ Mode }) => Mode || DEFAULT_NETWORK_MODE),
  );
  const { EnabledTaskDrivers, DisabledTaskDrivers, EnabledNetworkModes, DisabledNetworkModes } = Capabilities;
  return [
    ...refused('task driver', notAllowed(drivers, EnabledTaskDrivers, DisabledTaskDrivers), Name),
    ...refused('group network mode', notAllowed(modes, EnabledNetworkModes, DisabledNetworkModes), Name),
  ];
}

/**
 * Returns the names that are not allowed, sorted, without duplicates. Disabled wins over enabled, and an empty list of
 * enabled names allows every name.
 */
function notAllowed(
  used: readonly string[],
  enabled: readonly string[] | null,
  disabled: readonly string[] | null,
): string[] {
  const isAllowed = (name: string): boolean =>
    !disabled?.includes(name) && (!enabled || enabled.length === 0 || enabled.includes(name));
  return [...new Set(used)].filter((name) => !isAllowed(name)).toSorted();
}

function refused(what: string, names: readonly string[], namespace: string): string[] {
  const [only, ...more] = names.map((name) => JSON.stringify(name));
  if (only === undefined) return [];
  const said = more.length === 0 ? `${what} ${only} is` : `${what}s [${[only, ...more].join(' ')}] are`;
  return [`used ${said} not allowed in namespace "${namespace}"`];
}
