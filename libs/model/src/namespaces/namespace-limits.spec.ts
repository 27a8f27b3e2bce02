import { expect, it } from 'vitest';
import { decodeJob } from '../jobs/decode-job.js';
import type { NamespaceCapabilities } from './namespace.js';
import { namespaceLimitProblems } from './namespace-limits.js';

const ANY = {
  EnabledTaskDrivers: null,
  DisabledTaskDrivers: null,
  EnabledNetworkModes: null,
  DisabledNetworkModes: null,
};
/** A group per network mode, or one without a network; a task per driver in the first. */
function jobOf(drivers: readonly string[], modes: readonly (string | undefined)[] = []) {
  const Tasks = drivers.map((Driver, n) => ({ Name: `task-${n}`, Driver }));
  const groups = modes.map((Mode, n) => ({ Name: `g-${n}`, Networks: [{ Mode }], Tasks }));
  const TaskGroups = groups.length > 0 ? groups : [{ Name: 'g', Tasks }];
  return decodeJob({ ID: 'web', TaskGroups }, { region: 'global', submitTimeNs: 1 });
}
const problems = (job: ReturnType<typeof jobOf>, limits: Partial<NamespaceCapabilities>): string[] =>
  namespaceLimitProblems(job, { ...NAMESPACE, Capabilities: { ...ANY, ...limits } });
const NAMESPACE = {
  Name: 'team',
  Description: '',
  Quota: '',
  Capabilities: null,
  NodePoolConfiguration: null,
  VaultConfiguration: null,
  ConsulConfiguration: null,
  Meta: null,
  Hash: '',
  CreateIndex: 1,
  ModifyIndex: 1,
  RequiredExtraClaims: null,
  OptionalExtraClaims: null,
};

it('OP-182: a namespace without limits allows everything', () => {
  expect(namespaceLimitProblems(jobOf(['docker'], ['bridge']), NAMESPACE)).toEqual([]);
  expect(problems(jobOf(['docker'], ['bridge']), {})).toEqual([]);
});

it.each<[Partial<NamespaceCapabilities>, string[], string[]]>([
  [{ EnabledTaskDrivers: ['exec'] }, ['exec'], []],
  [{ EnabledTaskDrivers: [] }, ['exec'], []],
  [
    { EnabledTaskDrivers: ['exec'] },
    ['exec', 'docker'],
    ['used task driver "docker" is not allowed in namespace "team"'],
  ],
  [{ DisabledTaskDrivers: ['exec'] }, ['exec', 'exec'], ['used task driver "exec" is not allowed in namespace "team"']],
  [
    { EnabledTaskDrivers: ['exec'], DisabledTaskDrivers: ['exec'] },
    ['raw_exec', 'exec'],
    ['used task drivers ["exec" "raw_exec"] are not allowed in namespace "team"'],
  ],
])('API-346, OP-182: drivers, with %j of %j: %j', (limits, drivers, expected) => {
  expect(problems(jobOf(drivers), limits)).toEqual(expected);
});

it.each<[Partial<NamespaceCapabilities>, (string | undefined)[], string[]]>([
  [{ EnabledNetworkModes: ['bridge'] }, ['bridge'], []],
  [
    { EnabledNetworkModes: ['bridge'] },
    [undefined],
    ['used group network mode "host" is not allowed in namespace "team"'],
  ],
  [{ DisabledNetworkModes: ['host'] }, ['host'], ['used group network mode "host" is not allowed in namespace "team"']],
  [
    { EnabledNetworkModes: ['none'] },
    ['host', 'bridge'],
    ['used group network modes ["bridge" "host"] are not allowed in namespace "team"'],
  ],
])('API-346, OP-182: network modes, with %j of %j: %j', (limits, modes, expected) => {
  expect(problems(jobOf(['exec'], modes), limits)).toEqual(expected);
});
