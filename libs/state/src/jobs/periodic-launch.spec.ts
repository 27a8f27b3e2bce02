import type { Job, PeriodicConfig } from '@waybill/model';
import { beforeEach, describe, expect, it } from 'vitest';
import { fixtures } from '../fixtures.js';
import type { StateMachine } from '../machine/state-machine.js';

const { aJob, aMachine, aRegistration, apply } = fixtures;

const PERIODIC: PeriodicConfig = {
  Enabled: true,
  Spec: '0 3 * * *',
  Specs: null,
  SpecType: 'cron',
  ProhibitOverlap: false,
  TimeZone: 'UTC',
};

let machine: StateMachine;
beforeEach(() => {
  machine = aMachine();
});

const register = (over: Partial<Job>, timeNs = 1_767_225_600_000 * 1e6): void => {
  const job = aJob({ Type: 'batch', Periodic: PERIODIC, ID: 'backup', ...over });
  apply(machine, 'JobRegister', aRegistration(job), { timeNs });
};
const child = (name: string): void => register({ ID: name, ParentID: 'backup', Periodic: null });
const launch = (id = 'backup') => machine.tables.periodic_launch.get(`default/${id}`);

describe('launch rows', () => {
  it('ST-60, ST-4: an active periodic job has one from its first registration on, with the time of the transaction', () => {
    register({});
    const first = launch();
    expect(first).toMatchObject({
      ID: 'backup',
      Namespace: 'default',
      Launch: '2026-01-01T00:00:00.000Z',
      CreateIndex: 2,
    });
    register({ Priority: 70 }, 1_767_312_000_000 * 1e6);
    expect(launch()).toBe(first);
  });

  it('ST-60: none for a job that is switched off, stopped, a template, or not periodic', () => {
    register({ ID: 'off', Periodic: { ...PERIODIC, Enabled: false } });
    register({ ID: 'stopped', Stop: true });
    register({ ID: 'template', ParameterizedJob: { Payload: 'optional', MetaRequired: [], MetaOptional: [] } });
    register({ ID: 'once', Periodic: null });
    expect(machine.tables.periodic_launch.size).toBe(0);
  });

  it('ST-60: the registration of a launch moves the row of its parent to the time in the name', () => {
    register({});
    child('backup/periodic-1767236400');
    expect(launch()).toMatchObject({ Launch: '2026-01-01T03:00:00.000Z', CreateIndex: 2, ModifyIndex: 3 });
    expect(launch('backup/periodic-1767236400')).toBeUndefined();
  });

  it('ST-60: what is no launch moves nothing: another name, a template’s child, an old launch that is registered anew', () => {
    register({});
    child('backup/periodic-1767236400');
    child('backup/periodic-1767322800');
    child('backup/manual');
    child('backup/periodic-1767236400');
    expect(launch()).toMatchObject({ Launch: '2026-01-02T03:00:00.000Z' });
    register({ ID: 'both', ParameterizedJob: { Payload: 'optional', MetaRequired: [], MetaOptional: [] } });
    register({ ID: 'both/periodic-1767236400', ParentID: 'both', Periodic: null });
    expect(launch('both')).toBeUndefined();
  });

  it('ST-65: a purge takes it along; a stop does not', () => {
    register({});
    const deregister = (Purge: boolean) =>
      apply(
        machine,
        'JobDeregister',
        { JobID: 'backup', Purge, NoShutdownDelay: false, SubmitTime: 0, Eval: null, TrackedVersions: 6 },
        { namespace: 'default' },
      );
    deregister(false);
    expect(launch()).toBeDefined();
    deregister(true);
    expect(launch()).toBeUndefined();
  });
});
