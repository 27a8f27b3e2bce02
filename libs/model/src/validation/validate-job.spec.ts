import { describe, expect, it } from 'vitest';
import { NS_PER_HOUR, NS_PER_MINUTE, NS_PER_SECOND } from '../time/clock.js';
import { decodeJob } from '../jobs/decode-job.js';
import { formatErrors, formatWarnings } from './message-list.js';
import { validateJob, type ValidationOptions } from './validate-job.js';

interface Input {
  job?: Record<string, unknown>;
  group?: Record<string, unknown>;
  task?: Record<string, unknown>;
}

function validate({ job, group, task }: Input = {}, options: ValidationOptions = {}) {
  const decoded = decodeJob({
    ID: 'web',
    TaskGroups: [{ Name: 'app', Tasks: [{ Name: 'main', Driver: 'raw_exec', ...task }], ...group }],
    ...job,
  });
  const { errors, warnings } = validateJob(decoded, options);
  return { errors, warnings, text: formatErrors(errors) };
}

const ofJob = (job: Record<string, unknown>) => validate({ job }).text;
const ofGroup = (group: Record<string, unknown>, type = 'service') => validate({ job: { Type: type }, group }).text;
const ofTask = (task: Record<string, unknown>) => validate({ task }).text;

const group = (Name: string) => ({ Name, Tasks: [{ Name: 'main', Driver: 'raw_exec' }] });
const affinity = (fields: object) =>
  ofJob({ Affinities: [{ LTarget: '${attr.a}', RTarget: 'x', Operand: '=', ...fields }] });
const spread = (fields: object) => ofJob({ Spreads: [{ Attribute: '${node.datacenter}', ...fields }] });
const task = (fields: object) => ({ Driver: 'raw_exec', ...fields });
const disconnect = (block: object, type = 'service') => ofGroup({ Disconnect: block }, type);
const update = (block: object) => ofGroup({ Update: block });
const migrate = (block: object) => ofGroup({ Migrate: block });
const restart = (block: object) => ofGroup({ RestartPolicy: block });
const reschedule = (block: object) => ofGroup({ ReschedulePolicy: block });
const ports = (ReservedPorts: object[], fields: object = {}) => ofGroup({ Networks: [{ ReservedPorts, ...fields }] });
const secondOn80 = (fields: object) =>
  ports([
    { Label: 'a', Value: 80 },
    { Label: 'b', Value: 80, ...fields },
  ]);
const taskService = (block: object) => ofTask({ Services: [{ Name: 'a', ...block }] });
const scaling = (block: object, Count = 2) => ofGroup({ Scaling: block, Count });
const resources = (Resources: object) => ofTask({ Resources });
const volume = (block: object, fields: object = {}) => ofGroup({ Volumes: { v: block }, ...fields });

it('a minimal job of each type is valid and warns of nothing', () => {
  for (const Type of ['service', 'batch', 'system', 'sysbatch']) {
    expect(validate({ job: { Type } })).toEqual({ errors: [], warnings: [], text: '' });
  }
});

describe('job', () => {
  it('API-330: identity, type, datacenters, groups, priority', () => {
    expect(ofJob({ ID: '' })).toContain('Missing job ID');
    expect(ofJob({ ID: 'a b' })).toContain('Job ID contains a space');
    expect(ofJob({ ID: 'a\0b', Name: 'c\0d' })).toContain('Job ID contains a null character');
    expect(ofJob({ ID: 'a', Name: 'c\0d' })).toContain('Job Name contains a null character');
    expect(ofJob({ Name: '' })).toContain('Missing job name');
    expect(ofJob({ Type: '' })).toContain('Missing job type');
    expect(ofJob({ Type: 'cron' })).toContain('Invalid job type: "cron"');
    expect(ofJob({ Type: '_core' })).toContain('job type cannot be core');
    expect(ofJob({ Datacenters: ['dc1', ''] })).toContain('Job datacenter must be non-empty string');
    expect(ofJob({ TaskGroups: [] })).toContain('Missing job task groups');
    expect(ofJob({ Priority: 101 })).toContain('job priority must be between [1, 100]');
    expect(ofJob({ Priority: -1 })).toContain('job priority must be between [1, 100]');
    expect(ofJob({ UI: { Description: 'x'.repeat(1001) } })).toContain(
      'UI description must be under 1000 characters, currently 1001',
    );
  });

  it.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])(
    'a group or task that is called %s is refused: maps by their names would not hold it',
    (name) => {
      expect(ofJob({ TaskGroups: [group(name)] })).toContain(`Task group cannot be named "${name}"`);
      expect(ofTask({ Name: name })).toContain(`Task cannot be named "${name}"`);
    },
  );

  it('API-330: groups beside each other', () => {
    const text = ofJob({ TaskGroups: [group('a'), group(''), group('a')] });
    expect(text).toContain('Job task group 2 missing name');
    expect(text).toContain("Job task group 3 redefines 'a' from group 1");
    expect(ofGroup({ Count: 2 }, 'system')).toContain(
      'Job task group app has count 2. Count cannot exceed 1 with system scheduler',
    );
    expect(ofGroup({ ShutdownDelay: -1 })).toContain('ShutdownDelay must be a positive value');
    expect(validate({ group: { Count: 11 } }, { jobMaxCount: 10 }).text).toContain(
      'total count was greater than configured job_max_count: 11 > 10',
    );
  });

  it('API-330, SC-272: system jobs have no affinities and no spreads, at any level', () => {
    const affinities = { Affinities: [{ LTarget: '${attr.a}', RTarget: 'b', Operand: '=' }] };
    const spreads = { Spreads: [{ Attribute: '${node.datacenter}' }] };
    const { text } = validate({
      job: { Type: 'system', ...affinities },
      group: { ...affinities, ...spreads },
      task: affinities,
    });
    expect(text.match(/System jobs may not have an affinity block/g)).toHaveLength(3);
    expect(text).toContain('System jobs may not have a spread block');
  });

  it('API-331: periodic and parameterized', () => {
    expect(ofJob({ Periodic: { Specs: ['@daily'] } })).toContain(
      'Periodic can only be used with "batch" or "sysbatch" scheduler',
    );
    const periodic = (block: object) => ofJob({ Type: 'batch', Periodic: block });
    expect(periodic({})).toContain('Must specify a spec');
    expect(periodic({ Spec: '@daily', Specs: ['@daily'] })).toContain('Only cron or crons may be used');
    expect(periodic({ Specs: ['@daily'], TimeZone: 'Mars' })).toContain('Invalid time zone "Mars": ');
    expect(periodic({ Specs: ['@daily'], SpecType: 'x' })).toContain('Unknown periodic specification type "x"');
    expect(periodic({ Specs: ['@daily'], TimeZone: 'Europe/Berlin' })).toBe('');
    expect(ofJob({ ParameterizedJob: {} })).toContain('Parameterized job can only be used with');
    const parameterized = { Payload: 'x', MetaRequired: ['a', 'b'], MetaOptional: ['b', 'a'] };
    const text = ofJob({ Type: 'batch', ParameterizedJob: parameterized });
    expect(text).toContain('Unknown payload requirement: "x"');
    expect(text).toContain('Following keys exist in both: [b a]');
  });

  it('API-113: a payload comes only by dispatch', () => {
    expect(ofJob({ Payload: 'aGk=' })).toContain("job can't be submitted with a payload, only dispatched");
    expect(validate({ job: { Payload: 'aGk=' } }, { isDispatched: true }).errors).toEqual([]);
  });
});

describe('placement rules', () => {
  it('API-333, SC-59: constraints', () => {
    const cases: [LTarget: string, Operand: string, RTarget: string, message: string | undefined][] = [
      ['${attr.a}', '', 'x', 'Missing constraint operand'],
      ['${attr.a}', '~', 'x', 'Unknown constraint type "~"'],
      ['${attr.a}', 'set_contains', '', 'Set contains constraint requires an RTarget'],
      ['${attr.a}', 'regexp', '(', 'Regular expression failed to compile: '],
      ['${attr.a}', 'version', 'abc', 'Version constraint is invalid: '],
      ['${attr.a}', 'semver', '~> 1.0', 'Semver constraint is invalid: '],
      ['${meta.a}', 'distinct_property', 'x', 'Failed to convert RTarget "x" to uint64: '],
      ['${meta.a}', 'distinct_property', '0', 'Distinct Property must have an allowed count of 1 or greater: 0 < 1'],
      ['${attr.a}', 'is_set', 'x', 'Operator "is_set" does not support an RTarget'],
      ['${attr.a}', '=', '', 'Operator "=" requires an RTarget'],
      ['', '=', 'x', 'no attribute provided but is required by operator'],
      ['$attr.a}', '=', 'x', 'attribute "$attr.a}" is missing an opening brace'],
      ['${attr.a', '=', 'x', 'attribute "${attr.a" is missing a closing brace'],
      ['${node.color}', '=', 'x', 'unsupported attribute "${node.color}"'],
      ['${attr.a}', 'version', '>= 1.0, < 2.0-beta', undefined],
      ['${attr.a}', 'semver', '>= 1.6.3-dev', undefined],
      ['${attr.a}', 'is_not_set', '', undefined],
      ['', 'distinct_hosts', '', undefined],
      ['literal', '=', 'x', undefined],
      ['${node.pool}', '!=', 'x', undefined],
    ];
    for (const [LTarget, Operand, RTarget, message] of cases) {
      const text = ofJob({ Constraints: [{ LTarget, Operand, RTarget }] });
      if (message === undefined) expect(text).toBe('');
      else expect(text).toContain(`Constraint 1 validation failed: 1 error occurred:\n\t* ${message}`);
    }
    expect(ofTask({ Constraints: [{ Operand: 'distinct_hosts' }] })).toContain(
      'Constraint 1 has disallowed Operand at task level: distinct_hosts',
    );
    expect(resources({ Devices: [{ Name: 'gpu', Constraints: [{ Operand: 'distinct_hosts' }] }] })).toContain(
      'Constraint 1 has disallowed Operand at device level: distinct_hosts',
    );
  });

  it('API-334: affinities and spreads', () => {
    expect(affinity({ Weight: 0 })).toContain(
      'Affinity 1 validation failed: 1 error occurred:\n\t* Affinity weight cannot',
    );
    expect(affinity({ Weight: 101 })).toContain('Affinity weight must be within the range [-100,100]');
    expect(affinity({ Operand: 'distinct_hosts' })).toContain('Unknown affinity operator "distinct_hosts"');
    expect(affinity({ Operand: '' })).toContain('Missing affinity operand');
    expect(affinity({ LTarget: '' })).toContain('No LTarget provided but is required');
    expect(affinity({})).toBe('');
    expect(spread({ Attribute: '' })).toContain('Missing spread attribute');
    expect(spread({ Weight: 101 })).toContain('Spread block must have a positive weight from 0 to 100');
    const targets = [
      { Value: 'a', Percent: 60 },
      { Value: 'a', Percent: 50 },
    ];
    expect(spread({ SpreadTarget: targets })).toContain('Spread target value "a" already defined');
    expect(spread({ SpreadTarget: targets })).toContain('must not be greater than 100%; got 110%');
  });

  it('a very long malformed version is refused in linear time', () => {
    const long = '1'.repeat(200_000);
    for (const RTarget of [`${long}!`, `${'1.'.repeat(100_000)}!`, `${' '.repeat(100_000)}!`]) {
      expect(ofJob({ Constraints: [{ LTarget: '${attr.a}', Operand: 'semver', RTarget }] })).toContain('is invalid');
    }
  });

  it('what may be registered is what the scheduler can match: RE2, no more and no less', () => {
    const problems = (RTarget: string) =>
      ofJob({ Constraints: [{ LTarget: '${attr.a}', Operand: 'regexp', RTarget }] });
    for (const known of ['(?P<os>linux)', '(?i)^LINUX$']) expect(problems(known)).not.toContain('xpression');
    for (const unknown of ['[', '(?=ahead)', '(a)\\1']) expect(problems(unknown)).toContain('xpression');
  });
});

describe('group', () => {
  it('API-335: what a group may not be', () => {
    expect(ofGroup({ Count: -1 })).toContain(
      "Task group app validation failed: 1 error occurred:\n\t* Task group count can't be negative",
    );
    expect(ofGroup({ Name: '' })).toContain('Missing task group name');
    expect(ofGroup({ Tasks: [] })).toContain('Missing tasks for task group');
    expect(ofGroup({ MaxRunDuration: 1e9 })).toContain('Job type "service" does not allow max_run_duration');
    expect(ofGroup({ MaxRunDuration: 0 }, 'batch')).toContain('MaxRunDuration must be greater than zero');
    expect(ofGroup({ EphemeralDisk: { SizeMB: 5 } })).toContain('minimum DiskMB value is 10; got 5');
    const twice = ofGroup({ Tasks: [task({ Name: 'a', Leader: true }), task({}), task({ Name: 'a', Leader: true })] });
    expect(twice).toContain('Task 2 missing name');
    expect(twice).toContain("Task 3 redefines 'a' from task 1");
    expect(twice).toContain('Only one task may be marked as leader');
    expect(ofGroup({ Tasks: [task({ Name: 'a', Lifecycle: { Hook: 'prestart' } })] })).toContain(
      'Task group app must have at least one main task',
    );
  });

  it('API-303: blocks that the type does not have', () => {
    expect(validate({ job: { Type: 'batch', Update: { MaxParallel: 1 } } }).text).toContain(
      'Job type "batch" does not allow update block',
    );
    expect(validate({ job: { Type: 'system', Reschedule: { Attempts: 1 } } }).text).toContain(
      'System or sysbatch jobs should not have a reschedule policy',
    );
    expect(validate({ job: { Type: 'batch', Migrate: {} } }).text).toContain(
      'Job type "batch" does not allow migrate block',
    );
  });

  it('API-336: disconnect', () => {
    expect(disconnect({ LostAfter: 1, StopOnClientAfter: 1 })).toContain(
      'Disconnect cannot be configured with both lost_after and stop_after',
    );
    expect(disconnect({ LostAfter: -1 })).toContain('lost_after cannot be a negative duration');
    expect(disconnect({ StopOnClientAfter: -1 })).toContain('stop_after cannot be a negative duration');
    expect(disconnect({ StopOnClientAfter: 1 }, 'system')).toContain(
      'stop_after can only be used with service or batch',
    );
    expect(disconnect({ Reconcile: 'x' })).toContain('reconcile option is invalid: x');
  });

  it.each([
    [{ HealthCheck: 'x' }, 'Invalid health check given: "x"'],
    [{ MaxParallel: -1 }, 'Max parallel can not be less than zero: -1 < 0'],
    [{ Canary: -1 }, 'Canary count can not be less than zero: -1 < 0'],
    [{ AutoPromote: true }, 'Auto Promote requires a Canary count greater than zero'],
    [{ MinHealthyTime: -1e9 }, 'Minimum healthy time may not be less than zero: -1s'],
    [{ HealthyDeadline: 0 }, 'Healthy deadline must be greater than zero: 0s'],
    [{ ProgressDeadline: -1e9 }, 'Progress deadline must be zero or greater: -1s'],
    [{ MinHealthyTime: 300e9 }, 'Minimum healthy time must be less than healthy deadline: 5m0s > 5m0s'],
    [{ HealthyDeadline: 600e9 }, 'Healthy deadline must be less than progress deadline: 10m0s > 10m0s'],
    [{ Stagger: 0 }, 'Stagger must be greater than zero: 0s'],
  ])('API-337, DP-104: update %j', (block, text) => {
    expect(update(block)).toContain(text);
  });

  it('API-337, DP-104: what is allowed of update', () => {
    expect(update({ HealthyDeadline: 1200e9, ProgressDeadline: 0 })).toBe('');
    expect(update({ MinHealthyTime: 299e9, HealthyDeadline: 300e9, ProgressDeadline: 301e9, MaxParallel: 0 })).toBe('');
    for (const type of ['batch', 'sysbatch'])
      expect(ofGroup({ Update: { MaxParallel: 1 } }, type)).toContain(`Job type "${type}" does not allow update block`);
  });

  it('API-337: migrate', () => {
    expect(migrate({ MaxParallel: -1 })).toContain('MaxParallel must be >= 0 but found -1');
    expect(migrate({ HealthCheck: '' })).toContain('Missing HealthCheck');
    expect(migrate({ HealthCheck: 'manual' })).toContain('Invalid HealthCheck: "manual"');
    expect(migrate({ MinHealthyTime: 600e9 })).toContain('MinHealthyTime must be less than HealthyDeadline');
  });

  it('API-338: restart', () => {
    expect(restart({ Mode: 'x' })).toContain('Unsupported restart mode: "x"');
    expect(restart({ Mode: 'delay', Attempts: 0 })).toContain('Restart policy "delay" with 0 attempts is ambiguous');
    expect(restart({ Interval: NS_PER_SECOND, Attempts: 0 })).toContain('Interval can not be less than 5s (got 1s)');
    expect(restart({ Attempts: 10, Interval: NS_PER_MINUTE })).toContain(
      "Nomad can't restart the TaskGroup 10 times in an interval of 1m0s with a delay of 15s",
    );
  });

  it('API-338: reschedule', () => {
    const inherited = reschedule({ Attempts: 3, Interval: NS_PER_HOUR });
    expect(inherited).toContain(
      'Reschedule Policy with Attempts = 3, Interval = 1h0m0s, and Unlimited = true is ambiguous',
    );
    expect(inherited).toContain('If Attempts >0, Unlimited cannot also be set to true');
    const limited = (block: object) => reschedule({ Unlimited: false, Attempts: 3, Interval: NS_PER_HOUR, ...block });
    expect(limited({})).toBe('');
    expect(limited({ Interval: 0 })).toContain('Interval must be a non zero value if Attempts > 0');
    expect(limited({ Delay: NS_PER_SECOND })).toContain('Delay cannot be less than 5s (got 1s)');
    expect(limited({ DelayFunction: 'x' })).toContain('must be one of ["constant" "exponential" "fibonacci"]');
    expect(limited({ MaxDelay: 10e9 })).toContain('Max Delay cannot be less than Delay 30s (got 10s)');
    const tooMany = limited({ Attempts: 10, DelayFunction: 'constant', Interval: NS_PER_MINUTE });
    expect(tooMany).toContain(
      'Nomad can only make 2 attempts in 1m0s with initial delay 30s and delay function "constant"',
    );
    expect(tooMany).toContain('Set the interval to at least 5m0s to accommodate 10 attempts');
    expect(limited({ Attempts: 30, DelayFunction: 'fibonacci' })).toContain(', and delay ceiling 1h0m0s');
    expect(reschedule({ Unlimited: false, Delay: 0, DelayFunction: 'x' })).toBe('');
  });

  it('API-339: ports', () => {
    expect(
      ports([
        { Label: 'a', Value: 80 },
        { Label: 'a', Value: 81 },
      ]),
    ).toContain('Task group network validation failed: 1 error occurred:\n\t* Port label a already in use by ');
    expect(secondOn80({})).toContain('Static port 80 already reserved by ');
    expect(secondOn80({ HostNetwork: 'other' })).toBe('');
    expect(secondOn80({ IgnoreCollision: true })).toBe('');
    expect(ports([{ Label: 'a', Value: 70_000 }])).toContain('Port a (70000) cannot be greater than 65535');
    expect(ports([{ Label: 'a', To: -2 }])).toContain('Port "a" cannot be mapped to negative value -2');
    expect(ports([{ Label: 'a', To: 70_000 }])).toContain('cannot be mapped to a port (70000) greater than 65535');
    expect(ports([{ Label: 'a', Value: 1, IgnoreCollision: true }], { Mode: 'bridge' })).toContain(
      'Port "a" collision may not be ignored on non-host network mode "bridge"',
    );
    expect(ports([], { Hostname: 'no good' })).toContain('Hostname is not a valid DNS name');
  });

  it('NW-12, API-339: ports of tasks', () => {
    const [web, db] = ['web', 'db'].map((Name) => (Networks: object[]) => task({ Name, Resources: { Networks } }));
    const of = (one: object[], other: object[], Networks: object[] = []) =>
      ofGroup({ Networks, Tasks: [web!(one), db!(other)] });
    const on = (Value: number, Label = 'p') => ({ ReservedPorts: [{ Label, Value }] });
    expect(of([on(80)], [on(81)])).toBe('');
    expect(of([on(80)], [on(80)])).toContain('Static port 80 already reserved by web:p');
    expect(of([on(80)], [], [on(80, 'q')])).toContain('Static port 80 already reserved by taskgroup network:q');
    expect(of([on(80)], [], [on(81)])).toContain('Port label p already in use by taskgroup network:p');
    expect(of([on(80), on(81)], [])).toContain('Port label p already in use by web:p');
    expect(of([on(70_000)], [])).toContain('Port p (70000) cannot be greater than 65535');
    expect(of([{ Mode: 'host' }], [{ Mode: 'bridge' }])).toContain(
      'Task db uses network mode "bridge" in resources, use the group\'s network',
    );
  });

  it('API-345: scaling', () => {
    expect(scaling({})).toContain('Scaling policy invalid: maximum count must be specified and non-negative');
    expect(scaling({ Min: 5, Max: 3 }, 5)).toContain('maximum count must not be less than minimum count');
    expect(scaling({ Max: 1 })).toContain('task group count must not be greater than maximum count in scaling policy');
    expect(scaling({ Min: 3, Max: 5 })).toContain(
      'task group count must not be less than minimum count in scaling policy',
    );
    expect(scaling({ Max: 3, Type: 'vertical' })).toContain('scaling policy type "vertical" is not valid');
  });
});

describe('task', () => {
  it('DP-105: a task of a service may not take longer to end than its group may take without progress', () => {
    const ofType = (type: string, KillTimeout: number, ProgressDeadline = 600e9) =>
      ofGroup({ Tasks: [task({ Name: 'main', KillTimeout })], Update: { ProgressDeadline } }, type);
    const refused = "KillTimout (10m1s) longer than the group's ProgressDeadline (10m0s)";
    expect(ofType('service', 601e9)).toContain(refused);
    expect(ofType('service', 600e9)).not.toContain('KillTimout');
    expect(ofType('service', 601e9, 0)).not.toContain('KillTimout');
    expect(ofType('system', 601e9)).not.toContain('KillTimout');
  });

  it('API-340: names, driver, times, logs', () => {
    expect(ofTask({ Name: 'a/b' })).toContain(
      'Task a/b validation failed: 1 error occurred:\n\t* Task name cannot include',
    );
    expect(ofTask({ Name: 'alloc' })).toContain('Task cannot be named "alloc"');
    expect(ofTask({ Driver: '' })).toContain('Missing task driver');
    expect(ofTask({ KillTimeout: -1 })).toContain('KillTimeout must be a positive value');
    expect(ofTask({ KillTimeout: NS_PER_HOUR })).toContain(
      "KillTimout (1h0m0s) longer than the group's ProgressDeadline (10m0s)",
    );
    expect(ofTask({ ShutdownDelay: -1 })).toContain('ShutdownDelay must be a positive value');
    expect(ofTask({ LogConfig: { MaxFiles: 0 } })).toContain('minimum number of files is 1; got 0');
    expect(ofTask({ LogConfig: { MaxFileSizeMB: 0 } })).toContain('minimum file size is 1MB; got 0');
    expect(ofTask({ LogConfig: { MaxFileSizeMB: 30 } })).toContain(
      'log storage (300 MB) must be less than requested disk capacity (300 MB)',
    );
  });

  it('API-15: whole numbers of a driver that would lose digits are refused, with where they are', () => {
    const numbers = JSON.parse('{"a": {"b": [1, 9007199254740993]}, "c": 9007199254740991, "d": 1.5}') as object;
    expect(ofTask({ Config: numbers })).toContain('config.a.b.1 is a whole number beyond 2^53');
    expect(ofTask({ Config: { c: 9_007_199_254_740_991, d: -1.5, e: '9007199254740993' } })).toBe('');
  });

  it('API-340: artifacts, templates, lifecycle', () => {
    expect(ofTask({ Artifacts: [{}] })).toContain(
      'Artifact 1 validation failed: 1 error occurred:\n\t* source must be',
    );
    expect(ofTask({ Artifacts: [{ GetterSource: 's', GetterMode: 'x' }] })).toContain('invalid artifact mode "x"');
    expect(ofTask({ Artifacts: [{ GetterSource: 's', RelativeDest: '../../x' }] })).toContain(
      'destination escapes allocation directory',
    );
    const template = { EmbeddedTmpl: 'x', DestPath: 'local/a' };
    expect(ofTask({ Templates: [template, template] })).toContain('Template 2 has same destination as 1');
    expect(ofTask({ Templates: [{}] })).toContain('Must specify a source path or have an embedded template');
    expect(ofTask({ Templates: [{ ...template, Perms: '9' }] })).toContain('Failed to parse "9" as octal: ');
    expect(ofTask({ Templates: [{ ...template, ChangeMode: 'signal', ChangeSignal: '' }] })).toContain(
      'Must specify signal value when change mode is signal',
    );
    expect(ofTask({ Lifecycle: { Hook: 'x' } })).toContain('Lifecycle validation failed: invalid hook: x');
    expect(ofTask({ Lifecycle: {} })).toContain('Lifecycle validation failed: no lifecycle hook provided');
    expect(ofTask({ Vault: { ChangeMode: 'reload' } })).toContain(
      'Vault validation failed: Unknown change mode "reload"',
    );
    expect(ofTask({ Vault: { ChangeMode: 'signal', ChangeSignal: '' } })).toContain(
      'Vault validation failed: Signal must be specified when using change mode "signal"',
    );
    expect(ofTask({ Vault: { ChangeMode: 'signal', ChangeSignal: 'sighup' } })).not.toContain('Vault validation');
    expect(ofTask({ Identities: [{ Name: 'default' }, {}] })).toContain('Duplicate default identities found');
  });

  it('API-341: resources', () => {
    expect(resources({ CPU: 100, Cores: 1 })).toContain("Task can only ask for 'cpu' or 'cores' resource, not both.");
    expect(resources({ CPU: 0 })).toContain('minimum CPU value is 1; got 0');
    expect(resources({ Cores: 2 })).toBe('');
    expect(resources({ Cores: -1, CPU: 1 })).toContain('cores value (-1) cannot be negative');
    expect(resources({ MemoryMB: 9 })).toContain('minimum MemoryMB value is 10; got 9');
    expect(resources({ MemoryMB: 300, MemoryMaxMB: 200 })).toContain(
      'MemoryMaxMB value (200) should be larger than MemoryMB value (300)',
    );
    expect(resources({ MemoryMaxMB: -1 })).toBe('');
    expect(resources({ SecretsMB: 301 })).toContain('SecretsMB value (301) cannot be larger than MemoryMB value (300)');
    expect(resources({ NUMA: { Devices: ['gpu'] } })).toContain('numa device "gpu" not requested as task resource');
  });

  it('API-342: volumes and mounts', () => {
    expect(volume({ Type: 'host' })).toContain(
      'Task group volume validation for v failed: 1 error occurred:\n\t* volume has an empty source',
    );
    expect(volume({ Type: 'host', Source: 's', MountOptions: {} })).toContain('host volumes cannot have mount options');
    const csi = { Type: 'csi', Source: 's', AttachmentMode: 'file-system', AccessMode: 'single-node-writer' };
    expect(volume(csi)).toBe('');
    expect(volume(csi, { Count: 2 })).toContain(
      'volume with single-node-writer access mode allows only one reader or writer',
    );
    expect(volume({ ...csi, AccessMode: '' })).toContain('CSI volumes must have an access mode');
    expect(ofTask({ VolumeMounts: [{ Volume: 'x' }] })).toContain('Volume Mount (0) references undefined volume x');
  });

  it('API-343: services', () => {
    const service = (block: object) => ofGroup({ Services: [{ Name: 'a', Provider: 'nomad', ...block }] });
    expect(service({ Name: 'a_b' })).toContain(
      'Task group service validation failed: 1 error occurred:\n\t* Service[0] a_b validation failed: ',
    );
    expect(service({ AddressMode: 'x' })).toContain(
      'Service address_mode must be "auto", "host", or "driver"; not "x"',
    );
    expect(service({ AddressMode: 'host', Address: '1.2.3.4' })).toContain('must be "auto" if address is set');
    expect(service({ OnUpdate: 'x' })).toContain('Service on_update must be');
    expect(service({ Provider: 'x' })).toContain('Service provider must be "consul", or "nomad"; not "x"');
    expect(service({ AddressMode: 'driver' })).toContain('cannot use address_mode="driver"');
    const mixed = { Services: [{ Name: 'a', Provider: 'nomad' }, { Name: 'b' }] };
    expect(ofGroup(mixed)).toContain('Multiple service providers used');
    expect(taskService({ PortLabel: 'x' })).toContain('port label "x" referenced by services a does not exist');
    expect(taskService({ PortLabel: '80', AddressMode: 'driver' })).toBe('');
    expect(taskService({ TaskName: 'b' })).toContain(
      'Service a is invalid: may only specify task the service belongs to, got "b"',
    );
    expect(taskService({ AddressMode: 'alloc' })).toContain('service "a" cannot use address_mode="alloc"');
    expect(ofTask({ Services: [{ Name: 'a' }, { Name: 'a' }] })).toContain('service "a" is duplicate');
    const twice = { Services: [{ Name: 'a' }, { Name: 'a' }] };
    expect(ofGroup(twice)).toContain('Services are not unique: group->a:');
  });

  it('API-335: a gateway of Consul Connect needs no tasks; any other group does', () => {
    const gateway = (Connect: object) =>
      ofGroup({ Tasks: [], Networks: [{ Mode: 'bridge' }], Services: [{ Name: 'in', PortLabel: '8080', Connect }] });
    expect(gateway({ Gateway: { Ingress: { Listeners: [] } } })).toBe('');
    expect(gateway({ Gateway: null })).toContain('Missing tasks for task group');
    expect(gateway({ SidecarService: {} })).toContain('Missing tasks for task group');
  });

  it('API-344: checks', () => {
    const good = { Type: 'tcp', PortLabel: 'p', Interval: 10e9, Timeout: 2e9 };
    const check = (fields: object, Provider = 'nomad') =>
      ofGroup({ Services: [{ Name: 'a', Provider, Checks: [{ ...good, ...fields }] }] });
    expect(check({})).toBe('');
    expect(check({ Type: 'grpc' })).toContain('invalid check type ("grpc"), must be one of tcp, http');
    expect(check({ Type: 'script', Command: '/bin/true' })).toContain(
      'invalid check type ("script"), must be one of tcp, http',
    );
    expect(check({ Type: 'x' }, 'consul')).toContain('must be one of http, tcp, script, grpc');
    expect(check({ Type: 'http' })).toContain('http type must have http path');
    expect(check({ Type: 'http', Path: 'http://x/' })).toContain('http type must have relative http path');
    expect(check({ Interval: 0 })).toContain('missing required value interval. Interval cannot be less than 1s');
    expect(check({ Interval: 5e8 })).toContain('interval (500ms) cannot be lower than 1s');
    expect(check({ Timeout: 5e8 })).toContain('timeout (500ms) is lower than required minimum timeout 1s');
    expect(check({ InitialStatus: 'x' })).toContain('invalid initial check state (x)');
    expect(check({ TLSServerName: 'x' })).toContain('tls_server_name may only be set for Consul service checks');
    expect(check({ PortLabel: '' })).toContain('neither check nor service "a" have a port');
    expect(check({ TaskName: 'x' })).toContain('refers to non-existent task x');
  });

  it('API-344: checks of a group may share a name, also the default one; those of a task may not', () => {
    const unnamed = { Type: 'tcp', Interval: 10e9, Timeout: 2e9 };
    const service = (...names: (string | undefined)[]) => ({
      Name: 'a',
      Provider: 'nomad',
      PortLabel: 'p',
      Checks: names.map((Name) => ({ ...unnamed, Name })),
    });
    const network = { Networks: [{ DynamicPorts: [{ Label: 'p' }] }] };
    expect(ofGroup({ ...network, Services: [service(undefined, undefined)] })).toBe('');
    expect(ofGroup({ ...network, Services: [service('x', 'x')] })).toBe('');
    const ofTaskWith = (...names: (string | undefined)[]) =>
      validate({ group: network, task: { Services: [service(...names)] } }).text;
    expect(ofTaskWith('x', 'y')).toBe('');
    expect(ofTaskWith(undefined, undefined)).toContain('\n\t* check "service: \\"a\\" check" is duplicate');
    expect(ofTaskWith('x', 'x')).toContain('\n\t* check "x" is duplicate');
  });
});

describe('messages', () => {
  it('API-42, API-347: all violations in one text, outer before inner, nested lists behind their prefix', () => {
    const { errors } = validate({ job: { ID: 'a b', Priority: 200 }, group: { Count: -1 }, task: { Driver: '' } });
    expect(formatErrors(errors)).toBe(
      '3 errors occurred:' +
        '\n\t* Job ID contains a space' +
        '\n\t* Task group app validation failed: 2 errors occurred:' +
        "\n\t* Task group count can't be negative" +
        '\n\t* Task main validation failed: 1 error occurred:' +
        '\n\t* Missing task driver\n\n\n\n' +
        '\n\t* job priority must be between [1, 100]\n\n',
    );
    expect(formatErrors(['x'])).toBe('1 error occurred:\n\t* x\n\n');
  });

  it('NW-22, NW-24: warns about network modes that no machine or no driver of the group offers', () => {
    const warningsOf = (Mode: string, Driver = 'raw_exec') =>
      validate({ group: { Networks: [{ Mode }] }, task: { Driver } }).warnings;
    for (const mode of ['', 'host', 'none', 'bridge', 'cni/mine']) expect(warningsOf(mode)).toEqual([]);
    for (const mode of ['Bridge', 'cni/', 'macvlan', 'a\nb'])
      expect(warningsOf(mode)).toEqual([`unknown network mode ${JSON.stringify(mode)}`]);
    expect(warningsOf('x'.repeat(1_000_000))[0]?.length).toBeLessThan(100);
    for (const driver of ['raw_exec', 'exec', 'java', 'qemu'])
      expect(warningsOf('driver', driver)).toEqual([
        `task "main" cannot run: driver "${driver}" does not support network mode "driver"`,
      ]);
    for (const driver of ['docker', 'theirs']) expect(warningsOf('driver', driver)).toEqual([]);
  });

  it('API-350: warnings', () => {
    expect(formatWarnings([])).toBe('');
    expect(formatWarnings(['a', 'b'])).toBe('2 warnings:\n\n* a\n* b');
    const { warnings } = validate(
      { group: { Count: 2, Update: { MaxParallel: 3 } }, task: { Resources: { IOPS: 1, MemoryMaxMB: 400 } } },
      { memoryOversubscription: false },
    );
    expect(warnings).toEqual([
      expect.stringMatching(/^Update max parallel count is greater than task group count \(3 > 2\)\./),
      expect.stringMatching(/^Task "main" has warnings: 1 error occurred:\n\t\* IOPS has been deprecated/),
      expect.stringMatching(
        /^Memory oversubscription is not enabled; Task "app.main" memory_max value will be ignored\./,
      ),
    ]);
    expect(validate({ group: { Services: [{ Name: 'a', Provider: 'nomad' }] } }).warnings).toEqual([
      'group "app" defines services, but neither the group nor any of its tasks have shutdown_delay set',
    ]);
    expect(validate({ job: { Type: 'batch', Periodic: { Spec: '@daily' } } }).warnings).toContain(
      'cron is deprecated and may be removed in a future release. Use crons instead',
    );
  });
});
