import {
  type ClusterIdentities,
  decodeJob,
  defaultSchedulerConfiguration,
  type Namespace,
  type NodePool,
} from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { DriverConfigurations } from './driver-configurations.js';
import { type AdmissionLookup, JOB_MAX_COUNT, JobAdmission } from './job-admission.js';

const LIMITS = {
  EnabledTaskDrivers: ['exec'],
  DisabledTaskDrivers: null,
  EnabledNetworkModes: null,
  DisabledNetworkModes: null,
};

/** No machine has a plugin. */
const CONFIGURATIONS = new DriverConfigurations({ driverSchemas: async () => [] }, { nowMs: () => 1 });

function admission(
  Capabilities: Namespace['Capabilities'] = null,
  MemoryOversubscriptionEnabled = false,
  vault: ClusterIdentities = {},
) {
  const namespace = { Name: 'team', Capabilities } as Namespace;
  const config = { ...defaultSchedulerConfiguration(), MemoryOversubscriptionEnabled };
  const lookup: AdmissionLookup = {
    namespace: async (name) => (name === 'team' ? namespace : undefined),
    nodePool: async (Name) => (Name === 'default' ? ({ Name } as NodePool) : undefined),
    schedulerConfiguration: async () => config,
  };
  return new JobAdmission(lookup, CONFIGURATIONS, { vault, consul: {} });
}

/** Uses `docker` and may take more memory than it reserves. */
function submitted(over: object = {}, Namespace = 'team') {
  const Resources = { MemoryMB: 100, MemoryMaxMB: 200 };
  const Tasks = [{ Name: 'task', Driver: 'docker', Config: { image: 'i' }, Resources }];
  const TaskGroups = [{ Name: 'web', Tasks, ...over }];
  const Job = decodeJob({ ID: 'web', Namespace, TaskGroups }, { region: 'global', submitTimeNs: 1 });
  return { Job, warnings: ['of decoding'] };
}

describe('what is looked at before a job is written', () => {
  it('API-346, API-347, OP-182: what its namespace does not allow comes first, then what is wrong with it', async () => {
    const refusal = admission(LIMITS).admit(submitted({ Count: -1 }));
    await expect(refusal).rejects.toMatchObject({
      code: 'invalid',
      message: expect.stringMatching(
        /^2 errors occurred:\n\t\* used task driver "docker" is not allowed in namespace "team"\n\t\* Task group web/,
      ) as string,
    });
  });

  it('API-45, API-115, API-181: a namespace or pool that is not there is said before anything is written', async () => {
    const { Job } = submitted({}, 'elsewhere');
    expect((await admission(LIMITS).validate({ ...Job, NodePool: 'none' })).errors).toEqual([
      'job "web" is in nonexistent namespace "elsewhere"',
      'job "web" is in nonexistent node pool "none"',
    ]);
    expect((await admission().validate(submitted().Job)).errors).toEqual([]);
    // The first transaction of a cluster makes these, and may still be on its way to the read model.
    const young = new JobAdmission(
      {
        namespace: async () => undefined,
        nodePool: async () => undefined,
        schedulerConfiguration: async () => undefined,
      },
      CONFIGURATIONS,
    );
    for (const NodePool of ['', 'default', 'all'])
      expect((await young.validate({ ...submitted({}, 'default').Job, NodePool })).errors.join()).not.toContain(
        'nonexistent',
      );
    // Of several regions each looks for itself.
    const Regions = [{ Name: 'west', Count: 1, Datacenters: ['*'], NodePool: 'there', Meta: null }];
    const Multiregion = { Strategy: { MaxParallel: 0, OnFailure: '' }, Regions };
    expect((await admission().validate({ ...Job, Multiregion })).errors).toEqual([]);
  });

  it('AU-126: extra claims that the namespace does not offer are warned of', async () => {
    const Identities = [{ Name: 'aws', Audience: ['sts'], TTL: 3_600e9, ExtraClaims: ['team'] }];
    const Config = { image: 'i' };
    const { Job } = submitted({ Tasks: [{ Name: 'task', Driver: 'docker', Config, Identities }] });
    expect((await admission().validate(Job)).warnings).toEqual([
      'identity "aws" asks for extra claims the namespace does not offer: [team]',
    ]);
  });

  it('API-181, API-346: a job that uses a cluster of Vault that is not enabled is refused, once', async () => {
    const task = { Name: 'a', Driver: 'mock_driver' };
    const Tasks = [
      { ...task, Vault: {} },
      { ...task, Name: 'b', Vault: { Cluster: 'other' } },
    ];
    const { Job } = submitted({ Tasks });
    expect((await admission().validate(Job)).errors).toEqual([
      expect.stringMatching(/^Vault "default" not enabled but used in the job/),
    ]);
    const identity = { Audience: ['vault.io'], TTL: 3_600e9, ExtraClaims: null };
    expect((await admission(null, false, { default: identity }).validate(Job)).errors).toEqual([
      expect.stringMatching(/^Vault "other" not enabled but used in the job/),
    ]);
    expect((await admission(null, false, { default: identity, other: identity }).validate(Job)).errors).toEqual([]);
  });

  it('PG-42: a configuration that does not fit its driver is refused, after all else', async () => {
    const Tasks = [{ Name: 'task', Driver: 'exec', Config: { comand: '/bin/true' } }];
    const { Job } = submitted({ Count: -1, Tasks });
    const { errors, configFaults } = await admission().validate(Job);
    expect(errors.slice(1)).toEqual([
      'Task group web task task: invalid config of driver "exec": command is required',
      'Task group web task task: invalid config of driver "exec": unknown key "comand" in the configuration of exec',
    ]);
    expect(errors[0]).toMatch(/^Task group web validation failed/);
    expect(configFaults.map(({ Path }) => Path)).toEqual([['command'], ['comand']]);
    await expect(admission().admit(submitted({ Tasks }))).rejects.toMatchObject({
      code: 'invalid',
      message: expect.stringContaining('unknown key "comand"') as string,
    });
  });

  it('API-330: more allocations than one job may have', async () => {
    const { errors } = await admission().validate(submitted({ Count: JOB_MAX_COUNT + 1 }).Job);
    expect(errors).toEqual(['total count was greater than configured job_max_count: 50001 > 50000']);
    expect((await admission().validate(submitted({ Count: JOB_MAX_COUNT }).Job)).errors).toEqual([]);
  });

  it('API-350: memory that may be exceeded is warned of where it may not be', async () => {
    const ignored = 'Task "web.task" memory_max value will be ignored.';
    expect(await admission().admit(submitted())).toContain(ignored);
    expect(await admission(null, true).admit(submitted())).toBe('1 warning:\n\n* of decoding');
  });
});
