import { decodeJob, defaultSchedulerConfiguration, type Namespace } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { JOB_MAX_COUNT, JobAdmission } from './job-admission.js';

const LIMITS = {
  EnabledTaskDrivers: ['exec'],
  DisabledTaskDrivers: null,
  EnabledNetworkModes: null,
  DisabledNetworkModes: null,
};

function admission(Capabilities: Namespace['Capabilities'] = null, MemoryOversubscriptionEnabled = false) {
  const namespace = { Name: 'team', Capabilities } as Namespace;
  const config = { ...defaultSchedulerConfiguration(), MemoryOversubscriptionEnabled };
  return new JobAdmission({
    namespace: async (name) => (name === 'team' ? namespace : undefined),
    schedulerConfiguration: async () => config,
  });
}

/** Uses `docker` and may take more memory than it reserves. */
function submitted(over: object = {}, Namespace = 'team') {
  const Resources = { MemoryMB: 100, MemoryMaxMB: 200 };
  const Tasks = [{ Name: 'task', Driver: 'docker', Resources }];
  const TaskGroups = [{ Name: 'web', Tasks, ...over }];
  const Job = decodeJob({ ID: 'web', Namespace, TaskGroups }, { region: 'global', submitTimeNs: 1 });
  return { Job, warnings: ['of decoding'] };
}

describe('what is looked at before a job is written', () => {
  it('API-346, API-347, OP-182: what its namespace does not allow comes first, then what is wrong with it', async () => {
    const refusal = admission(LIMITS).admit(submitted({ Count: -1 }));
    await expect(refusal).rejects.toMatchObject({
      status: 500,
      message: expect.stringMatching(
        /^2 errors occurred:\n\t\* used task driver "docker" is not allowed in namespace "team"\n\t\* Task group web/,
      ) as string,
    });
  });

  it('API-45: a namespace that is not there limits nothing; that it is missing is said when the job is written', async () => {
    expect((await admission(LIMITS).look(submitted({}, 'elsewhere').Job)).errors).toEqual([]);
  });

  it('API-330: more allocations than one job may have', async () => {
    const { errors } = await admission().look(submitted({ Count: JOB_MAX_COUNT + 1 }).Job);
    expect(errors).toEqual(['total count was greater than configured job_max_count: 50001 > 50000']);
    expect((await admission().look(submitted({ Count: JOB_MAX_COUNT }).Job)).errors).toEqual([]);
  });

  it('API-350: memory that may be exceeded is warned of where it may not be', async () => {
    const ignored = 'Task "web.task" memory_max value will be ignored.';
    expect(await admission().admit(submitted())).toContain(ignored);
    expect(await admission(null, true).admit(submitted())).toBe('1 warning:\n\n* of decoding');
  });
});
