import { describe, expect, it } from 'vitest';
import { decodeJob } from '../jobs/decode-job.js';
import { formatErrors } from '../validation/message-list.js';
import { validateJob } from '../validation/validate-job.js';
import {
  ACTION_NAME,
  IDENTITY_NAME,
  MAX_DATACENTER_BYTES,
  MAX_GROUP_NAME_BYTES,
  MAX_JOB_ID_BYTES,
  MAX_JOB_NAME_BYTES,
  MAX_PLUGIN_ID_BYTES,
  MAX_PORT_LABEL_BYTES,
  MAX_SERVICE_TEMPLATE_BYTES,
  MAX_TASK_NAME_BYTES,
  MAX_VOLUME_NAME_BYTES,
  NAMESPACE_NAME,
  nameLengthErrors,
  NODE_POOL_NAME,
  SERVICE_NAME,
} from './name-limits.js';

const long = (length: number): string => 'x'.repeat(length);

interface Given {
  readonly job?: object;
  readonly group?: object;
  readonly task?: object;
}

function errorsOf({ job, group, task }: Given): string {
  const Tasks = [{ Name: 'main', Driver: 'raw_exec', ...task }];
  return formatErrors(
    validateJob(decodeJob({ ID: 'web', TaskGroups: [{ Name: 'app', Tasks, ...group }], ...job })).errors,
  );
}

/** A job with one name of a length, and how the error begins. */
const NAMES: readonly (readonly [what: string, maxBytes: number, with_: (name: string) => Given])[] = [
  ['Job ID', MAX_JOB_ID_BYTES, (ID) => ({ job: { ID, Name: 'web' } })],
  ['Job Name', MAX_JOB_NAME_BYTES, (Name) => ({ job: { Name } })],
  ['Job datacenter', MAX_DATACENTER_BYTES, (name) => ({ job: { Datacenters: [name] } })],
  ['Task group name', MAX_GROUP_NAME_BYTES, (Name) => ({ group: { Name } })],
  ['Task name', MAX_TASK_NAME_BYTES, (Name) => ({ task: { Name } })],
  ['Port label', MAX_PORT_LABEL_BYTES, (Label) => ({ group: { Networks: [{ DynamicPorts: [{ Label }] }] } })],
  [
    'Service name',
    MAX_SERVICE_TEMPLATE_BYTES,
    (name) => ({ task: { Services: [{ Name: `\${X}${name.slice(4)}`, Provider: 'nomad' }] } }),
  ],
  ['volume source', MAX_VOLUME_NAME_BYTES, (Source) => ({ group: { Volumes: { v: { Type: 'host', Source } } } })],
  ['volume name', MAX_VOLUME_NAME_BYTES, (name) => ({ group: { Volumes: { [name]: { Type: 'host', Source: 'v' } } } })],
  ['CSIPluginConfig PluginID', MAX_PLUGIN_ID_BYTES, (ID) => ({ task: { CSIPluginConfig: { ID, Type: 'node' } } })],
];

it.each(NAMES)('%s of a job: %i bytes are taken, one more is refused', (what, maxBytes, givenWith) => {
  expect(errorsOf(givenWith(long(maxBytes)))).toBe('');
  expect(errorsOf(givenWith(long(maxBytes + 1)))).toContain(
    `${what} must be at most ${maxBytes} bytes, currently ${maxBytes + 1}`,
  );
});

it('a length counts bytes of UTF-8, not characters', () => {
  expect(nameLengthErrors('Name', 'é'.repeat(64), 128)).toEqual([]);
  expect(nameLengthErrors('Name', 'é'.repeat(65), 128)).toEqual(['Name must be at most 128 bytes, currently 130']);
});

describe('the contract’s name rules', () => {
  it.each<readonly [rule: string, pattern: RegExp, taken: readonly string[], refused: readonly string[]]>([
    [
      'actions',
      ACTION_NAME,
      ['a', 'a_b', 'a.b', 'a/b', 'é!', '-', '😀'.repeat(128)],
      ['', 'a b', 'a\tb', 'a\nb', 'a\0b', long(129)],
    ],
    ['OP-178: namespaces', NAMESPACE_NAME, ['a', 'A-1', long(128)], ['', 'a_b', 'a.b', 'é', 'a\n', long(129)]],
    ['ND-183: node pools', NODE_POOL_NAME, ['a', 'A_-1', long(128)], ['', 'a.b', 'a/b', 'é', 'a\n', long(129)]],
    ['API-343: services', SERVICE_NAME, ['a', 'A-1', long(63)], ['', '-a', 'a-', 'a_b', 'a.b', long(64)]],
    ['AU-122: identities', IDENTITY_NAME, ['a', 'A_-1', long(128)], ['', 'a b', 'a.b', 'a/b', 'é', 'a\n', long(129)]],
  ])('%s', (_rule, pattern, taken, refused) => {
    for (const name of taken) expect(pattern.test(name), name).toBe(true);
    for (const name of refused) expect(pattern.test(name), name).toBe(false);
  });

  it('actions whose names have dots and underscores are valid', () => {
    const Actions = ['db_seed', 'v1.2/seed'].map((Name) => ({ Name, Command: '/bin/true' }));
    expect(errorsOf({ task: { Actions } })).toBe('');
    expect(errorsOf({ task: { Actions: [{ Name: 'db seed', Command: '/bin/true' }] } })).toContain(
      "invalid name 'db seed'",
    );
  });
});
