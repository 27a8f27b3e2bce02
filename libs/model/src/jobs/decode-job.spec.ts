import { describe, expect, it } from 'vitest';
import { NS_PER_HOUR, NS_PER_MINUTE, NS_PER_SECOND } from '../time/clock.js';
import { DecodeError } from '../encoding/decode-error.js';
import { decodeJob, droppedFieldWarnings } from './decode-job.js';
import { encodeJob } from '../encoding/encode-job.js';
import { diffJobs } from '../job-diff/index.js';
import type { Job } from './job.js';
import { specChanged } from './specification-change.js';
import type { Task } from './task.js';
import type { TaskGroup } from './task-group.js';
import { MAX_JSON_DEPTH } from '../encoding/wire-shape.js';

const context = { region: 'global', submitTimeNs: 1_755_779_638_123_000_000 };

interface Input {
  job?: Record<string, unknown>;
  group?: Record<string, unknown>;
  task?: Record<string, unknown>;
}

function input({ job, group, task }: Input = {}): Record<string, unknown> {
  return {
    ID: 'web',
    TaskGroups: [{ Name: 'app', Tasks: [{ Name: 'main', Driver: 'raw_exec', ...task }], ...group }],
    ...job,
  };
}

function decode(parts: Input = {}): { job: Job; group: TaskGroup; task: Task } {
  const job = decodeJob(input(parts), context);
  const [group] = job.TaskGroups;
  const [task] = group?.Tasks ?? [];
  if (group === undefined || task === undefined) throw new Error('the sample job has a group with a task');
  return { job, group, task };
}

const readBack = (job: Job): unknown => JSON.parse(JSON.stringify(encodeJob(job)));

const spread = (percent: number) => ({ Spreads: [{ Attribute: 'a', SpreadTarget: [{ Percent: percent }] }] });
const nested = (depth: number): unknown => JSON.parse(`${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`);

describe('input', () => {
  it('API-25: names match in any case, an exact match wins, unknown fields are ignored, null is the default', () => {
    const job = decodeJob(
      { id: 'web', PRIORITY: 10, Priority: 20, Nonsense: { a: 1 }, type: null, taskgroups: [{ name: 'g', tasks: [] }] },
      context,
    );
    expect(job).toMatchObject({ ID: 'web', Priority: 20, Type: 'service' });
    expect(job.TaskGroups[0]?.Name).toBe('g');
    expect(job).not.toHaveProperty('Nonsense');
  });

  it('API-27: a wrong type is an error that names the field', () => {
    expect(() => decode({ group: { Count: 'three' } })).toThrow(
      new DecodeError('json: cannot unmarshal string into Go struct field Job.TaskGroups.Count of type int'),
    );
    for (const bad of [{ Count: 1.5 }, { Tasks: {} }, { Name: 7 }, { Meta: { a: 1 } }, { Update: [] }]) {
      expect(() => decode({ group: bad })).toThrow(DecodeError);
    }
    expect(() => decodeJob('text', context)).toThrow(DecodeError);
    expect(() => decodeJob([], context)).toThrow(DecodeError);
  });

  it('API-715: numbers out of their range are refused while decoding', () => {
    expect(() => decode({ job: spread(256) })).toThrow('number 256 into Go struct field');
    expect(() => decode({ job: spread(-1) })).toThrow(DecodeError);
    expect(() => decode({ job: { Affinities: [{ Weight: 200 }] } })).toThrow('of type int8');
    expect(decode({ job: spread(255) }).job.Spreads?.[0]?.SpreadTarget?.[0]?.Percent).toBe(255);
  });

  it('JSON deeper than the limit is refused, just below it is kept', () => {
    expect(() => decode({ task: { Config: nested(MAX_JSON_DEPTH + 1) } })).toThrow('exceeded max depth');
    expect(decode({ task: { Config: nested(MAX_JSON_DEPTH) } }).task.Config).toEqual(nested(MAX_JSON_DEPTH));
  });

  it('a key called __proto__ is data', () => {
    const job = decodeJob(JSON.parse('{"ID":"a","Meta":{"__proto__":"x"}}'), context);
    expect(Object.entries(job.Meta!)).toEqual([['__proto__', 'x']]);
    expect(JSON.stringify(encodeJob(job))).toContain('"__proto__":"x"');
  });

  it('null among the items of a list does not crash', () => {
    const job = decodeJob({ ID: 'a', Datacenters: [null], TaskGroups: [null] }, context);
    expect(job.Datacenters).toEqual(['']);
    expect(job.TaskGroups[0]?.Name).toBe('');
  });

  it('API-100: a job without an ID, or of type system with scaling, is refused at once', () => {
    expect(() => decodeJob({ Name: 'x' }, context)).toThrow("Job ID hasn't been provided");
    expect(() => decodeJob({ ID: null }, context)).toThrow(DecodeError);
    expect(decodeJob({ ID: '' }, context).ID).toBe('');
    expect(() => decode({ job: { Type: 'system' }, group: { Scaling: { Max: 1 } } })).toThrow(
      'Task groups with job type system do not support scaling blocks',
    );
  });

  it('API-111: what the server owns is ignored', () => {
    const owned = {
      Status: 'dead',
      StatusDescription: 'x',
      Stable: true,
      Version: 7,
      SubmitTime: 1,
      CreateIndex: 2,
      ModifyIndex: 3,
      JobModifyIndex: 4,
      ParentID: 'p',
    };
    expect(decode({ job: owned }).job).toMatchObject({
      Status: 'pending',
      StatusDescription: '',
      Stable: false,
      Version: 0,
      CreateIndex: 0,
      ModifyIndex: 0,
      JobModifyIndex: 0,
      ParentID: '',
    });
  });
});

describe('defaults', () => {
  it('API-300, AG-110: a minimal service job', () => {
    const { job, group } = decode();
    expect(job).toMatchObject({
      Name: 'web',
      Type: 'service',
      Priority: 50,
      Region: 'global',
      Namespace: 'default',
      NodePool: 'default',
      Datacenters: ['*'],
      AllAtOnce: false,
      Stop: false,
    });
    expect(group).toMatchObject({
      Count: 1,
      RestartPolicy: { Attempts: 2, Interval: 30 * NS_PER_MINUTE, Delay: 15 * NS_PER_SECOND, Mode: 'fail' },
      ReschedulePolicy: {
        Attempts: 0,
        Interval: 0,
        Delay: 30 * NS_PER_SECOND,
        DelayFunction: 'exponential',
        MaxDelay: NS_PER_HOUR,
        Unlimited: true,
      },
      Migrate: {
        MaxParallel: 1,
        HealthCheck: 'checks',
        MinHealthyTime: 10 * NS_PER_SECOND,
        HealthyDeadline: 5 * NS_PER_MINUTE,
      },
      EphemeralDisk: { Sticky: false, SizeMB: 300, Migrate: false },
    });
  });

  it('API-300, AG-110, DP-102: the policies of the other types', () => {
    const batch = decode({ job: { Type: 'batch' } }).group;
    expect(batch.RestartPolicy).toMatchObject({ Attempts: 3, Interval: 24 * NS_PER_HOUR });
    expect(batch.ReschedulePolicy).toMatchObject({
      Attempts: 1,
      Interval: 24 * NS_PER_HOUR,
      DelayFunction: 'constant',
    });
    expect(batch).toMatchObject({ Update: null, Migrate: null });
    const system = decode({ job: { Type: 'system' } }).group;
    expect(system.RestartPolicy.Attempts).toBe(2);
    expect(system).toMatchObject({ ReschedulePolicy: null, Migrate: null });
    expect(system.Update).toMatchObject({ MaxParallel: 1 });
    const sysbatch = decode({ job: { Type: 'sysbatch' } }).group;
    expect(sysbatch.RestartPolicy.Attempts).toBe(3);
    expect(sysbatch).toMatchObject({ ReschedulePolicy: null, Migrate: null, Update: null });
  });

  it('API-300: a field sent as zero stays zero, but a priority of 0 is 50', () => {
    const { job, group } = decode({ job: { Priority: 0 }, group: { Count: 0, EphemeralDisk: { SizeMB: 0 } } });
    expect(job.Priority).toBe(50);
    expect(group.Count).toBe(0);
    expect(group.EphemeralDisk.SizeMB).toBe(0);
  });

  it('API-301, DP-103: update fields come from the group, then the job, then the default; MaxParallel 0 is kept', () => {
    const { group } = decode({
      job: { Update: { MaxParallel: 3, Canary: 1 } },
      group: { Update: { MaxParallel: 0, HealthCheck: 'manual' } },
    });
    expect(group.Update).toEqual({
      Stagger: 30 * NS_PER_SECOND,
      MaxParallel: 0,
      HealthCheck: 'manual',
      MinHealthyTime: 10 * NS_PER_SECOND,
      HealthyDeadline: 5 * NS_PER_MINUTE,
      ProgressDeadline: 10 * NS_PER_MINUTE,
      AutoRevert: false,
      AutoPromote: false,
      Canary: 1,
    });
  });

  it('API-302: the job keeps only Stagger and MaxParallel of its update block', () => {
    const zero = { HealthCheck: '', MinHealthyTime: 0, HealthyDeadline: 0, ProgressDeadline: 0, Canary: 0 };
    expect(decode().job.Update).toMatchObject({ Stagger: 30 * NS_PER_SECOND, MaxParallel: 1, ...zero });
    const given = decode({ job: { Update: { MaxParallel: 4, Canary: 2 } } }).job.Update;
    expect(given).toMatchObject({ Stagger: 30 * NS_PER_SECOND, MaxParallel: 4, ...zero });
    expect(decode({ job: { Update: { MaxParallel: 0 } } }).job.Update).toMatchObject({ Stagger: 0, MaxParallel: 0 });
    expect(decode({ job: { Type: 'batch' } }).job.Update).toMatchObject({ Stagger: 0, MaxParallel: 0 });
  });

  it('API-304: policies are completed field by field, a task takes what it lacks from its group', () => {
    const { group, task } = decode({
      job: { Reschedule: { Delay: 60 * NS_PER_SECOND }, Migrate: { MaxParallel: 2 } },
      group: { ReschedulePolicy: { Attempts: 3 }, RestartPolicy: { Attempts: 5 } },
      task: { RestartPolicy: { Mode: 'delay' } },
    });
    expect(group.ReschedulePolicy).toMatchObject({ Attempts: 3, Delay: 60 * NS_PER_SECOND, Unlimited: true });
    expect(group.Migrate).toMatchObject({ MaxParallel: 2, HealthCheck: 'checks' });
    expect(task.RestartPolicy).toMatchObject({ Attempts: 5, Mode: 'delay', Delay: 15 * NS_PER_SECOND });
    expect(decode({ group: { RestartPolicy: { Attempts: 5 } } }).task.RestartPolicy.Attempts).toBe(5);
  });

  it('API-305: a task', () => {
    const { task } = decode({ task: { KillTimeout: 0 } });
    expect(task).toMatchObject({
      KillTimeout: 5 * NS_PER_SECOND,
      LogConfig: { MaxFiles: 10, MaxFileSizeMB: 10, Disabled: false },
      Resources: { CPU: 100, Cores: 0, MemoryMB: 300, MemoryMaxMB: 0, DiskMB: 0, IOPS: 0, SecretsMB: 0 },
      Leader: false,
      Kind: '',
    });
    expect(decode({ task: { Resources: { Cores: 0 } } }).task.Resources.CPU).toBe(0);
    const { Resources } = decode({ task: { Resources: { Devices: [{ Name: 'gpu' }], NUMA: {} } } }).task;
    expect(Resources.Devices?.[0]?.Count).toBe(1);
    expect(Resources.NUMA?.Affinity).toBe('none');
  });

  it('API-306: weights', () => {
    const { job } = decode({ job: { Affinities: [{ LTarget: 'a' }], Spreads: [{ Attribute: 'a' }] } });
    expect([job.Affinities?.[0]?.Weight, job.Spreads?.[0]?.Weight]).toEqual([50, 50]);
  });

  it('API-307: mounts, and volumes of an unknown type', () => {
    const { group, task } = decode({
      group: { Volumes: { a: { Type: 'host', Source: 's' }, b: { Type: 'nfs' } } },
      task: { VolumeMounts: [{ Volume: 'a' }] },
    });
    expect(Object.keys(group.Volumes!)).toEqual(['a']);
    expect(task.VolumeMounts?.[0]).toMatchObject({ ReadOnly: false, PropagationMode: 'private', SELinuxLabel: '' });
  });

  it('API-308: artifacts and templates', () => {
    const { task } = decode({
      task: {
        Artifacts: [{ GetterSource: 'http://x/a/b.txt?q=1', GetterMode: 'file' }, { GetterSource: 'http://x/y' }],
        Templates: [{ DestPath: 'a' }, { ChangeMode: 'signal' }, { ChangeSignal: 'sigusr1' }],
      },
    });
    expect(task.Artifacts?.map((artifact) => artifact.RelativeDest)).toEqual(['local/b.txt', 'local/']);
    expect(task.Templates?.[0]).toMatchObject({
      ChangeMode: 'restart',
      ChangeSignal: '',
      Splay: 5 * NS_PER_SECOND,
      Perms: '0644',
      LeftDelim: '{{',
      RightDelim: '}}',
    });
    expect(task.Templates?.map((template) => template.ChangeSignal)).toEqual(['', 'SIGHUP', 'SIGUSR1']);
  });

  it('API-309: services and their checks', () => {
    const { group, task } = decode({
      group: {
        Services: [
          {
            Name: '${JOB}-${TASKGROUP}-x',
            Provider: 'nomad',
            CheckRestart: { Limit: 3 },
            Weights: { Passing: 0 },
            Checks: [{ Type: 'tcp', FailuresBeforeCritical: -2 }],
          },
        ],
      },
      task: { Services: [{}] },
    });
    const service = group.Services?.[0];
    expect(service).toMatchObject({
      Name: 'web-app-x',
      AddressMode: 'auto',
      OnUpdate: 'require_healthy',
      Namespace: 'default',
      Cluster: 'default',
      Weights: { Passing: 1, Warning: 1 },
      TaskName: '',
    });
    expect(service?.Checks?.[0]).toMatchObject({
      Name: 'service: "web-app-x" check',
      OnUpdate: 'require_healthy',
      FailuresBeforeCritical: 0,
      CheckRestart: { Limit: 3, Grace: NS_PER_SECOND, IgnoreWarnings: false },
    });
    expect(task.Services?.[0]).toMatchObject({
      Name: 'web-app-main',
      Provider: 'consul',
      TaskName: 'main',
      Weights: null,
    });
  });

  it('API-311: vault and storage plugins', () => {
    const { task } = decode({ task: { Vault: {}, CSIPluginConfig: { ID: 'disks' } } });
    expect(task.Vault).toMatchObject({
      Env: true,
      Cluster: 'default',
      ChangeMode: 'restart',
      ChangeSignal: 'SIGHUP',
    });
    expect(task.CSIPluginConfig).toMatchObject({
      MountDir: '/csi',
      StagePublishBaseDir: '/local/csi',
      HealthTimeout: 30 * NS_PER_SECOND,
    });
    const noop = decode({ task: { Vault: { ChangeMode: 'noop' } } });
    expect(noop.task.Vault).toMatchObject({ ChangeMode: 'noop', ChangeSignal: 'SIGHUP' });
  });

  it('API-101: the namespace of the request is that of services and of scaling targets, whatever the job says', () => {
    const Services = [{ Name: 'web', Provider: 'nomad' }];
    const Tasks = [{ Name: 'main', Driver: 'raw_exec', Services }];
    const json = { ID: 'web', Namespace: 'dev', TaskGroups: [{ Name: 'app', Scaling: { Max: 1 }, Services, Tasks }] };
    const placed = (namespace?: string) => {
      const job = decodeJob(json, { region: 'global', submitTimeNs: 0, ...(namespace !== undefined && { namespace }) });
      const [group] = job.TaskGroups;
      const places = [job, group?.Services?.[0], group?.Tasks[0]?.Services?.[0], group?.Scaling?.Target];
      return places.map((place) => place?.['Namespace']);
    };
    expect(placed('prod')).toEqual(['prod', 'prod', 'prod', 'prod']);
    expect(placed('')).toEqual(['dev', 'dev', 'dev', 'dev']);
    expect(placed()).toEqual(['dev', 'dev', 'dev', 'dev']);
  });

  it('API-310: periodic, parameterized, multiregion and scaling', () => {
    const { job, group } = decode({
      job: { Type: 'batch', Periodic: {}, ParameterizedJob: {}, Multiregion: { Regions: [{ Name: 'eu' }] } },
      group: { Count: 2, Scaling: {} },
    });
    expect(job.Periodic).toMatchObject({ Enabled: true, SpecType: 'cron', TimeZone: 'UTC', ProhibitOverlap: false });
    expect(job.ParameterizedJob?.Payload).toBe('optional');
    expect(job.Multiregion).toMatchObject({ Strategy: { MaxParallel: 0, OnFailure: '' }, Regions: [{ Count: 1 }] });
    expect(group.Scaling).toMatchObject({
      Type: 'horizontal',
      Enabled: true,
      Min: 2,
      Max: -1,
      Target: { Namespace: 'default', Job: 'web', Group: 'app' },
    });
    expect(decode({ group: { Scaling: { Min: 3, Max: 5 } } }).group.Count).toBe(3);
  });

  it('API-312: every task has the default identity, wherever it was written', () => {
    const expected = { Name: 'default', Audience: ['nomadproject.io'], Env: false, TTL: 0 };
    expect(decode().task.Identity).toMatchObject(expected);
    const { task } = decode({
      task: {
        Identities: [
          { Name: 'default', Env: true, Audience: ['x'] },
          { Name: 'aws', ChangeSignal: 'sighup' },
        ],
      },
    });
    expect(task.Identity).toMatchObject({ ...expected, Env: true });
    expect(task.Identities).toMatchObject([{ Name: 'aws', ChangeSignal: 'SIGHUP' }]);
  });

  it('API-313: empty maps and lists are null', () => {
    const { job, group } = decode({ job: { Meta: {}, Constraints: [] }, group: { Services: [], Volumes: {} } });
    expect(job).toMatchObject({ Meta: null, Constraints: null });
    expect(group).toMatchObject({ Services: null, Volumes: null });
  });

  it('API-314: deprecated group fields are dropped, with a warning', () => {
    const json = input({ group: { maxclientdisconnect: 5, PreventRescheduleOnLost: true } });
    const group = decodeJob(json, context).TaskGroups[0];
    expect(group).toMatchObject({ MaxClientDisconnect: null, PreventRescheduleOnLost: false });
    expect(droppedFieldWarnings(json)).toEqual([
      'MaxClientDisconnect is deprecated and ignored in favor of Disconnect.LostAfter',
      'PreventRescheduleOnLost is deprecated and ignored in favor of Disconnect.Replace',
    ]);
    expect(droppedFieldWarnings(input())).toEqual([]);
  });

  it('API-315: submit time and the first status', () => {
    expect(decode().job).toMatchObject({ SubmitTime: context.submitTimeNs, Status: 'pending' });
    expect(decode({ job: { Type: 'batch', Periodic: { Specs: ['* * * * *'] } } }).job.Status).toBe('running');
  });

  it('API-316: empty texts that are replaced, and those that stay for validation', () => {
    const { job, group } = decode({
      job: { Namespace: '', NodePool: '', Region: 'global', Datacenters: [], Type: '', Name: '' },
      group: { Disconnect: { Reconcile: '' }, Networks: [{ DynamicPorts: [{ Label: 'a', HostNetwork: '' }] }] },
    });
    expect(job).toMatchObject({ Namespace: 'default', NodePool: 'default', Region: 'global', Datacenters: ['*'] });
    expect(job).toMatchObject({ Type: '', Name: '' });
    expect(group.Disconnect).toMatchObject({ Reconcile: 'best_score', Replace: true });
    expect(group.Networks?.[0]?.DynamicPorts?.[0]?.HostNetwork).toBe('default');
  });

  it('API-317: accepted and dropped', () => {
    const { job, group, task } = decode({
      job: { ConsulNamespace: 'team' },
      group: { Consul: {}, Networks: [{ Device: 'eth0' }] },
      task: { Resources: { DiskMB: 5 }, Schedule: {} },
    });
    expect(job.ConsulNamespace).toBe('');
    expect(group.Consul?.Namespace).toBe('team');
    expect(group.Networks?.[0]?.Device).toBe('');
    expect(task.Resources.DiskMB).toBe(0);
    expect(task.Schedule).toBeNull();
  });

  it('API-43: the region global means the region of the agent', () => {
    expect(decodeJob({ ID: 'a', Region: 'global' }, { ...context, region: 'eu' }).Region).toBe('eu');
    expect(decodeJob({ ID: 'a', Region: 'us' }, { ...context, region: 'eu' }).Region).toBe('us');
  });
});

describe('implicit constraints', () => {
  const bridged = { Networks: [{ Mode: 'bridge' }], Services: [{ Provider: 'nomad', Checks: [{ Type: 'tcp' }] }] };

  it('API-320, SC-46: features bring the constraints they need', () => {
    const { group } = decode({ group: bridged, task: { KillSignal: 'SIGUSR1', Vault: {} } });
    expect(group.Constraints).toEqual([
      { LTarget: '${attr.nomad.service_discovery}', RTarget: 'true', Operand: '=' },
      { LTarget: '${attr.nomad.version}', RTarget: '>= 1.4.0', Operand: 'semver' },
      ...['bridge', 'firewall', 'host-local', 'loopback', 'portmap'].map((plugin) => ({
        LTarget: `\${attr.plugins.cni.version.${plugin}}`,
        RTarget: '>= 0.4.0',
        Operand: 'semver',
      })),
      { LTarget: '${attr.vault.version}', RTarget: '>= 0.6.1', Operand: 'semver' },
      { LTarget: '${attr.os.signals}', RTarget: 'SIGUSR1', Operand: 'set_contains' },
    ]);
  });

  it("API-322: a user's own constraint on the attribute wins, and nothing is added twice", () => {
    const own = { LTarget: '${attr.consul.version}', RTarget: '>= 1.18.0', Operand: 'semver' };
    const { job, group } = decode({ group: { Constraints: [own], Services: [{}] } });
    expect(group.Constraints).toEqual([own]);
    expect(decodeJob(readBack(job), context).TaskGroups).toEqual(job.TaskGroups);
  });
});

describe('specification', () => {
  it('API-321: implicit constraints are in the stored job, and make no difference to it submitted again', () => {
    const { job, group } = decode({ group: { Services: [{ Provider: 'nomad' }] } });
    expect(group.Constraints).not.toBeNull();
    const again = decodeJob(readBack(job), context);
    expect(diffJobs(job, again).Type).toBe('None');
    expect(specChanged(job, again)).toBe(false);
  });

  it('OP-238: blocks that nothing here acts on read back as they were given', () => {
    const Regions = [{ Name: 'west', Count: 2 }];
    const { job } = decode({
      job: { Multiregion: { Strategy: { MaxParallel: 1, OnFailure: 'fail_all' }, Regions }, VaultNamespace: 'v' },
      group: { Consul: { Namespace: 'c', Cluster: 'a', Partition: 'p' } },
      task: { Vault: { Role: 'r', Namespace: 'n' }, Consul: { Namespace: 'd' } },
    });
    const answered = readBack(job) as Record<string, unknown>;
    expect(answered).toMatchObject({
      Multiregion: { Strategy: { MaxParallel: 1, OnFailure: 'fail_all' }, Regions },
      VaultNamespace: 'v',
      TaskGroups: [
        {
          Consul: { Namespace: 'c', Cluster: 'a', Partition: 'p' },
          Tasks: [{ Vault: { Role: 'r', Namespace: 'n' }, Consul: { Namespace: 'd' } }],
        },
      ],
    });
    expect(readBack(decodeJob(answered, context))).toEqual(answered);
  });

  it('API-701: what is folded into the groups is in no answer', () => {
    const input = { Reschedule: { Attempts: 1, Interval: 6e10, Unlimited: false }, Migrate: { MaxParallel: 2 } };
    const { job, group } = decode({ job: { ...input, ConsulNamespace: 'team' } });
    expect([group.ReschedulePolicy?.Attempts, group.Migrate?.MaxParallel]).toEqual([1, 2]);
    const answered = encodeJob(job) as Record<string, unknown>;
    for (const name of ['Reschedule', 'Migrate', 'RestartPolicy']) expect(answered).not.toHaveProperty(name);
    expect(answered['ConsulNamespace']).toBe('');
  });

  const rich: Input = {
    job: {
      Update: { MaxParallel: 2 },
      Meta: { a: 'b' },
      Affinities: [{ LTarget: '${attr.x}', RTarget: 'y', Operand: '=' }],
    },
    group: {
      Count: 3,
      Networks: [{ Mode: 'bridge', DynamicPorts: [{ Label: 'http', To: 80 }] }],
      Services: [{ PortLabel: 'http', Provider: 'nomad', Checks: [{ Type: 'tcp', Interval: 1e10, Timeout: 1e9 }] }],
      Scaling: { Max: 5 },
      Volumes: { v: { Type: 'host', Source: 's' } },
      Disconnect: { LostAfter: 1e9 },
    },
    task: {
      Config: { command: '/bin/sh', nested: { list: [1, { a: null }], empty: {} } },
      Identities: [{ Name: 'aws', Audience: ['sts'] }],
      Templates: [{ EmbeddedTmpl: 'x', DestPath: 'local/x', ChangeMode: 'signal' }],
      Vault: {},
    },
  };

  it('API-106: a job read back and registered unchanged is no change', () => {
    for (const type of ['service', 'batch', 'system', 'sysbatch']) {
      const { group: full, ...rest } = rich;
      const { Scaling: _, ...withoutScaling } = full!;
      const group = type === 'system' ? { ...withoutScaling, Count: 1 } : full;
      const job = type.endsWith('batch') ? { ...rest.job, Update: undefined } : rest.job;
      const { job: stored } = decode({ ...rest, group, job: { ...job, Type: type } });
      const again = decodeJob(readBack(stored), { ...context, submitTimeNs: 1 });
      expect(specChanged(stored, again)).toBe(false);
      expect({ ...again, SubmitTime: stored.SubmitTime }).toEqual(stored);
    }
  });

  it('API-106: state and bookkeeping do not count as changes, the specification does', () => {
    const { job } = decode(rich);
    const bookkeeping: Partial<Job> = {
      Status: 'running',
      Version: 4,
      Stable: true,
      ModifyIndex: 9,
      NomadTokenID: 'someone',
      VersionTag: { Name: 't', Description: '', TaggedTime: 1 },
    };
    expect(specChanged({ ...job, ...bookkeeping }, job)).toBe(false);
    expect(specChanged(job, decode({ ...rich, group: { ...rich.group, Count: 4 } }).job)).toBe(true);
    expect(specChanged(job, decode({ ...rich, task: { ...rich.task, Config: { command: '/bin/ls' } } }).job)).toBe(
      true,
    );
  });

  it('API-107: starting a stopped job again is a change', () => {
    const { job } = decode();
    expect(specChanged({ ...job, Stop: true }, job)).toBe(true);
  });

  it('API-700: a job shows exactly its fields', () => {
    const { job } = decode();
    expect(Object.keys(encodeJob(job)).toSorted()).toEqual(
      (
        'AllAtOnce Affinities ConsulNamespace Constraints CreateIndex Datacenters DispatchIdempotencyToken Dispatched ' +
        'ID JobModifyIndex Meta ModifyIndex Multiregion Name Namespace NodePool NomadTokenID ParameterizedJob ParentID ' +
        'Payload Periodic Priority Region Spreads Stable Status StatusDescription Stop SubmitTime TaskGroups Type UI ' +
        'Update VaultNamespace Version VersionTag'
      )
        .split(' ')
        .toSorted(),
    );
  });
});
