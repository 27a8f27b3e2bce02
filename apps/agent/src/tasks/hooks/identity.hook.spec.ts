import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { FakeTime, Refusal, type Task, type WorkloadIdentity } from '@waybill/model';
import { silentLogger } from '@waybill/telemetry';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { UserIds } from '../../drivers/user-ids.js';
import { aTask, FOREVER, setup } from '../../fixtures/running-allocation.js';
import { anIdentity, aService } from '../../fixtures/task-identity.js';
import type { AllocationRecord } from '../../allocations/records/allocation-record.js';
import { AllocationIdentities } from '../../identities/allocation-identities.js';
import type { TaskHook, TaskStart } from '../task-hook.js';
import { IdentityHook, TOKEN_WAIT_MS } from './identity.hook.js';

let root: string;
const inTask = (name: string): string => path.join(root, 'web', name);
beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'waybill-identity-'));
  for (const name of ['local', 'secrets', 'private']) await mkdir(inTask(name), { recursive: true });
  await mkdir(path.join(root, 'alloc'));
});
afterEach(() => rm(root, { recursive: true, force: true, maxRetries: 10 }));

const HALF_HOUR = 1_800_000;
const ofDefault = (over: Partial<WorkloadIdentity>): Partial<Task> => ({
  Identity: anIdentity('default', { TTL: 0, ...over }),
});
const ofNamed = (...Identities: WorkloadIdentity[]): Partial<Task> => ({ Identities });

interface Given {
  readonly user?: UserIds;
  readonly config?: Record<string, unknown>;
  readonly rejects?: () => boolean;
}

/** Makes one task whose tokens contain the number of their request: `aws 1`, `aws 2`. */
function identified(task: Partial<Task>, given: Given = {}) {
  const paths = {
    allocDir: path.join(root, 'alloc'),
    logsDir: '',
    taskDir: path.join(root, 'web'),
    localDir: inTask('local'),
    secretsDir: inTask('secrets'),
    privateDir: inTask('private'),
  };
  const envs: Readonly<Record<string, string>>[] = [];
  /** Sees the driver's environment, because it is the last hook. */
  let asked = 0;
  const alloc = setup([aTask('web', given.config ?? FOREVER, task)], {
    paths,
    type: 'service',
    signer: async (_, __, wanted) => {
      asked++;
      if (given.rejects?.()) throw new Error('1/1 signing request was rejected: identity not found');
      return wanted.map(({ task: name, identity }) => ({
        task: name,
        identity,
        jwt: `${identity} ${asked}`,
        validMs: identity === 'default' ? null : 2 * HALF_HOUR,
      }));
    },
    hooks: (_, identities) => {
      const hook = new IdentityHook({ identities, userOf: () => given.user });
      const seeing: TaskHook = {
        name: 'identity',
        prestart: async (start) => {
          const added = await hook.prestart(start);
          envs.push(added?.env ?? {});
          return added;
        },
        restore: (start) => hook.restore(start),
      };
      return [seeing];
    },
  });
  const events = () => alloc.runner.clientUpdate().TaskStates['web']?.Events ?? [];
  /** Polls, because files are written outside of the fake clock. */
  const becomes = (look: () => unknown, value: unknown) =>
    expect
      .poll(async () => {
        await alloc.time.pass(0);
        return await look();
      })
      .toEqual(value);
  const running = () => becomes(alloc.states, { web: 'running' });
  const file = (name: string) => readFile(inTask(name), 'utf8').catch(() => null);
  const actions = () =>
    events()
      .filter(({ Type }) => ['Signaling', 'Restart Signaled', 'Killing'].includes(Type))
      .map(({ Type, Details }) => [Type, ...Object.values(Details ?? {})].join(': '));
  return { ...alloc, running, becomes, file, actions, envs, askedTimes: () => asked };
}

describe('tokens of a task', () => {
  it('AU-156: the default one is in the environment and in its file', async () => {
    const { runner, running, envs, file } = identified(ofDefault({ Env: true, File: true }));
    runner.runAllocation();
    await running();
    expect(envs).toEqual([{ NOMAD_TOKEN: 'default 1' }]);
    expect(await file('secrets/nomad_token')).toBe('default 1');
  });

  it('AU-156: named ones have their names in variables and files, or a path of their own', async () => {
    const aws = anIdentity('aws-x', { Env: true, File: true });
    const gcp = anIdentity('gcp', { File: true, Filepath: 'local/gcp/token' });
    const { runner, running, envs, file, askedTimes } = identified(ofNamed(aws, gcp, anIdentity('silent')));
    runner.runAllocation();
    await running();
    expect(envs).toEqual([{ 'NOMAD_TOKEN_aws-x': 'aws-x 1' }]);
    expect(await file('secrets/nomad_aws-x.jwt')).toBe('aws-x 1');
    expect(await file('local/gcp/token')).toBe('gcp 1');
    expect(await readdir(inTask('secrets'))).toEqual(['nomad_aws-x.jwt']);
    expect(askedTimes()).toBe(1);
  });

  it('AU-156, AU-159: that of its service is a file, whose renewal acts on the task', async () => {
    const identity = anIdentity('', { File: true, ChangeMode: 'restart' });
    const web = aService({ Name: 'web-${NOMAD_ALLOC_INDEX}', TaskName: 'web', Identity: identity });
    const silent = aService({ Name: 'silent', TaskName: 'web', Identity: anIdentity('x', { File: false }) });
    const { runner, running, time, becomes, file, envs, actions } = identified({ Services: [web, silent] });
    runner.runAllocation();
    await running();
    const [name] = await readdir(inTask('secrets'));
    expect([name, await readdir(inTask('secrets'))]).toEqual(['nomad_service_web-0.jwt', [name]]);
    expect(await file(`secrets/${name}`)).toBe('service/web-${NOMAD_ALLOC_INDEX} 1');
    await time.pass(HALF_HOUR);
    await becomes(actions, ['Restart Signaled: Identity[service/web-${NOMAD_ALLOC_INDEX}]: new token acquired']);
    expect(await file(`secrets/${name}`)).toBe('service/web-${NOMAD_ALLOC_INDEX} 2');
    expect(envs[0]).toEqual({});
  });

  it('AU-151: a task that sees no token and has no named identity costs no request', async () => {
    const { runner, running, askedTimes, records, alloc } = identified(ofDefault({}));
    runner.runAllocation();
    await running();
    expect(askedTimes()).toBe(0);
    expect(records.saved.get(alloc.ID)).not.toHaveProperty('identities');
  });

  it('AU-158: without a token, a start fails after a minute and may be tried again; it never starts without', async () => {
    const time = new FakeTime();
    const tokens = new AllocationIdentities({
      allocId: 'a',
      index: () => 1,
      wanted: [{ task: 'web', identity: 'aws', expires: true }],
      signer: () => Promise.reject(new Refusal('unavailable', 'away')),
      clock: time,
      timers: time,
      random: () => 0,
      logger: silentLogger,
      save: () => Promise.resolve(),
    });
    tokens.restore([]); // as after a defect: the allocation counts as prepared, and the token is missing
    await tokens.prepare();
    const never = new AbortController().signal;
    const hook = new IdentityHook({ identities: { of: () => tokens }, userOf: () => undefined });
    const { alloc } = setup([aTask('web', FOREVER)], {});
    const task = aTask('web', FOREVER, ofNamed(anIdentity('aws', { Env: true })));
    let outcome: unknown = 'waits';
    const start: Partial<TaskStart> = { alloc, task, signal: never, over: never };
    hook.prestart(start as TaskStart).catch((error: unknown) => (outcome = error));
    await time.pass(TOKEN_WAIT_MS - 1);
    expect([TOKEN_WAIT_MS, outcome]).toEqual([60_000, 'waits']);
    await time.pass(1);
    expect(outcome).toMatchObject({ message: 'timed out waiting for identity "aws"', recoverable: true });
    tokens.close();
  });

  it('AU-162: a task without an identity of its own sees no token, and nothing of the machine', async () => {
    const { runner, running, envs } = identified({ Identity: null, Identities: null });
    runner.runAllocation();
    await running();
    expect(envs).toEqual([{}]);
    expect(await readdir(inTask('secrets'))).toEqual([]);
  });

  it('AU-151: a rejection fails the preparation', async () => {
    const { runner, becomes, states, events } = identified(ofDefault({ Env: true }), { rejects: () => true });
    runner.runAllocation();
    await becomes(states, { web: 'dead failed' });
    expect(events('web')).toContain('Setup Failure');
    expect(runner.clientUpdate().TaskStates['web']?.Events.at(-1)?.Details).toMatchObject({
      setup_error:
        'failed to setup alloc: failed to fetch signed identities: 1/1 signing request was rejected: identity not found',
    });
  });

  const own = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  it.each([
    ['the owner’s alone if the owner is known', { user: own }, 0o600],
    ['readable in the closed directory if not', {}, 0o644],
  ])('AU-157: a file is %s', async (_, given, mode) => {
    const { runner, running } = identified(ofDefault({ File: true }), given);
    runner.runAllocation();
    await running();
    expect((await stat(inTask('secrets/nomad_token'))).mode & 0o777).toBe(mode);
  });

  it.each(['../../x', '/etc/waybill-x', 'local/out/x', 'local/shared/x', 'private/x', 'local/..'])(
    'AU-123: the path %s is refused by the agent too',
    async (Filepath) => {
      await symlink('/tmp', inTask('local/out'));
      await symlink('../../alloc', inTask('local/shared'));
      const { runner, becomes, states, actions } = identified(ofDefault({ File: true, Filepath }));
      runner.runAllocation();
      await becomes(states, { web: 'dead failed' });
      expect(actions()).toEqual([]);
      expect(await readdir(path.join(root, 'alloc'))).toEqual([]);
      expect(await readdir(inTask('private'))).toEqual([]);
    },
  );
});

describe('renewed tokens', () => {
  it('AU-159: noop writes the file and does nothing else; the first token causes nothing', async () => {
    const { runner, running, time, becomes, file, actions } = identified(ofNamed(anIdentity('aws', { File: true })));
    runner.runAllocation();
    await running();
    await time.pass(HALF_HOUR);
    await becomes(() => file('secrets/nomad_aws.jwt'), 'aws 2');
    expect(actions()).toEqual([]);
  });

  it('AU-159: signal and restart say which identity it was', async () => {
    const signal = { ChangeMode: 'signal', ChangeSignal: 'SIGHUP' };
    const signalled = identified(ofNamed(anIdentity('aws', signal), anIdentity('gcp', signal)));
    signalled.runner.runAllocation();
    await signalled.running();
    await signalled.time.pass(HALF_HOUR);
    await signalled.becomes(signalled.actions, ['Signaling: SIGHUP: Identity[aws]: new Identity token acquired']);
  });

  it('AU-160: several that are renewed together cause one restart, which is not a failure; AU-161: it has the new tokens', async () => {
    const restart = { ChangeMode: 'restart', Env: true };
    const { runner, running, time, becomes, actions, envs } = identified(
      ofNamed(anIdentity('aws', restart), anIdentity('gcp', restart), anIdentity('x', { ChangeMode: 'signal' })),
    );
    runner.runAllocation();
    await running();
    await time.pass(HALF_HOUR);
    await becomes(() => envs.length, 2);
    await running();
    expect(actions()).toEqual(['Restart Signaled: Identity[aws]: new token acquired']);
    expect(envs[1]).toEqual({ NOMAD_TOKEN_aws: 'aws 2', NOMAD_TOKEN_gcp: 'gcp 2' });
    expect(runner.clientUpdate().TaskStates['web']?.Failed).toBe(false);
  });

  it('AU-160: one renewal sends one signal, however often the task was restarted before', async () => {
    const { runner, running, time, becomes, envs, actions } = identified(
      ofNamed(anIdentity('aws', { ChangeMode: 'signal', ChangeSignal: 'SIGHUP' })),
    );
    runner.runAllocation();
    await running();
    for (let n = 1; n <= 5; n++) {
      const restarted = runner.restart('web', false);
      await becomes(() => envs.length, n + 1);
      await running();
      await restarted;
    }
    await time.pass(HALF_HOUR);
    await becomes(() => actions().filter((action) => action.startsWith('Signaling')).length, 1);
  });

  it('AU-159: a signal that fails kills the task as failed', async () => {
    const { runner, running, time, becomes, states, actions } = identified(
      ofNamed(anIdentity('aws', { ChangeMode: 'signal', ChangeSignal: 'SIGHUP' })),
      { config: { ...FOREVER, signal_error: 'no such signal' } },
    );
    runner.runAllocation();
    await running();
    await time.pass(HALF_HOUR);
    await becomes(states, { web: 'dead failed' });
    expect(actions().at(-1)).toContain('Identity[aws]: failed to send signal: no such signal');
  });

  it('AU-328: whoever reads the file meanwhile sees a whole token', async () => {
    const { runner, running, time, becomes, file } = identified(ofNamed(anIdentity('aws', { File: true })));
    runner.runAllocation();
    await running();
    const seen = new Set<string | null>();
    let over = false;
    const reading = (async () => {
      while (!over) seen.add(await file('secrets/nomad_aws.jwt'));
    })();
    for (let n = 2; n <= 20; n++) {
      await time.pass(HALF_HOUR);
      await becomes(() => file('secrets/nomad_aws.jwt'), `aws ${n}`);
    }
    over = true;
    await reading;
    for (const text of seen) expect(text).toMatch(/^aws \d+$/);
  });
});

describe('over a restart of the agent', () => {
  const stored = (records: ReadonlyMap<string, AllocationRecord>, id: string) => structuredClone(records.get(id)!);

  it('AU-152, AU-324: kept tokens cause no request, no signal and no restart', async () => {
    const { runner, running, time, records, alloc, make, driver, askedTimes, becomes } = identified(
      ofNamed(anIdentity('aws', { ChangeMode: 'restart', Env: true })),
    );
    runner.runAllocation();
    await running();
    await becomes(() => records.saved.get(alloc.ID)?.identities?.map(({ jwt }) => jwt), ['aws 1']);
    const next = make(stored(records.saved, alloc.ID), driver);
    next.runAllocation();
    await time.pass(1_000);
    expect(askedTimes()).toBe(1);
    expect(next.clientUpdate().TaskStates['web']?.State).toBe('running');
    expect(next.clientUpdate().TaskStates['web']?.Events.some(({ Type }) => Type === 'Restart Signaled')).toBe(false);
  });

  it('AU-325: expired ones are fetched in one request, and the task is told once', async () => {
    const { runner, running, time, records, alloc, make, driver, askedTimes, becomes } = identified(
      ofNamed(anIdentity('aws', { ChangeMode: 'signal', ChangeSignal: 'SIGHUP' })),
    );
    runner.runAllocation();
    await running();
    await becomes(() => records.saved.get(alloc.ID)?.tasks['web']?.state.State, 'running');
    const record = stored(records.saved, alloc.ID);
    const expired = record.identities!.map((token) => ({ ...token, expiresAtMs: time.nowMs() - 1 }));
    const next = make({ ...record, identities: expired }, driver);
    next.runAllocation();
    const signals = () =>
      next.clientUpdate().TaskStates['web']?.Events.filter(({ Type }) => Type === 'Signaling').length;
    await becomes(signals, 1);
    await time.pass(60_000);
    expect(signals()).toBe(1);
    expect(askedTimes()).toBe(2);
  });
});
