import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type Task, type TaskGroup, type VaultBlock } from '@waybill/model';
import { silentLogger } from '@waybill/telemetry';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeLoginService } from '../../fixtures/login-service.js';
import { aTask, FOREVER, setup } from '../../fixtures/running-allocation.js';
import { anIdentity, aService } from '../../fixtures/task-identity.js';
import { type LoginServer, MachineLogins } from '../../logins/machine-logins.js';
import type { WantedLogin } from '../../logins/wanted-login.js';
import type { TaskHook } from '../task-hook.js';
import { LoginHook } from './login.hook.js';

let root: string;
const inTask = (name: string): string => path.join(root, 'web', name);
beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'waybill-login-'));
  for (const name of ['local', 'secrets', 'private']) await mkdir(inTask(name), { recursive: true });
  await mkdir(path.join(root, 'alloc'));
});
afterEach(() => rm(root, { recursive: true, force: true, maxRetries: 10 }));

const vaultBlock = (over: Partial<VaultBlock> = {}): VaultBlock => ({
  Role: '',
  Namespace: '',
  Cluster: 'default',
  Env: true,
  DisableFile: false,
  ChangeMode: 'restart',
  ChangeSignal: 'SIGHUP',
  AllowTokenExpiration: false,
  ...over,
});
const CONSUL = { Namespace: '', Cluster: '', Partition: '' };
const IDENTITIES = ['vault_default', 'vault_team', 'consul_default'].map((name) => anIdentity(name));

interface Given {
  readonly group?: Partial<TaskGroup>;
  readonly config?: Record<string, unknown>;
  readonly mood?: FakeLoginService['mood'];
}

/** Makes one task that logs in at fake services. */
function loggedIn(task: Partial<Task>, given: Given = {}) {
  const services = { vault: new FakeLoginService(), consul: new FakeLoginService() };
  if (given.mood) services.vault.mood = given.mood;
  const wanted: WantedLogin[] = [];
  const server = (service: FakeLoginService, address: string): LoginServer => ({
    address,
    namespace: '',
    call: async () => ({ status: 200, text: '', index: 0 }),
    service: (one) => {
      wanted.push(one);
      return service;
    },
  });
  const servers = {
    vault: new Map([['default', server(services.vault, 'https://vault')]]),
    consul: new Map([['default', server(services.consul, 'https://consul')]]),
  };
  const envs: Readonly<Record<string, string>>[] = [];
  const machines: MachineLogins[] = [];
  const paths = {
    allocDir: path.join(root, 'alloc'),
    logsDir: '',
    taskDir: path.join(root, 'web'),
    localDir: inTask('local'),
    secretsDir: inTask('secrets'),
    privateDir: inTask('private'),
  };
  const alloc = setup([aTask('web', given.config ?? FOREVER, { Identities: IDENTITIES, ...task })], {
    paths,
    type: 'service',
    ...(given.group && { group: given.group }),
    signer: async (_, __, asked) =>
      asked.map(({ task: name, identity }) => ({
        task: name,
        identity,
        jwt: `jwt of ${identity}`,
        validMs: 3_600_000,
      })),
    hooks: (time, identities) => {
      const common = { identities, clock: time, timers: time, random: () => 0, logger: silentLogger };
      const logins = new MachineLogins({ ...common, servers });
      machines.push(logins);
      const deps = { logins, userOf: () => undefined };
      return (['vault', 'consul'] as const).map((product): TaskHook => {
        const hook = new LoginHook(product, deps);
        return {
          name: product,
          prestart: async (start) => {
            const added = await hook.prestart(start);
            if (added?.env) envs.push(added.env);
            return added;
          },
          restore: (start) => hook.restore(start),
          stop: (ended) => hook.stop(ended),
        };
      });
    },
  });
  /** Polls, because files are written outside of the fake clock. */
  const becomes = (look: () => unknown, value: unknown) =>
    expect
      .poll(async () => {
        await alloc.time.pass(0);
        return await look();
      })
      .toEqual(value);
  const file = (name: string) => readFile(inTask(name), 'utf8').catch(() => null);
  const told = () =>
    (alloc.runner.clientUpdate().TaskStates['web']?.Events ?? [])
      .filter(({ Type }) => !['Received', 'Task Setup', 'Started', 'Restarting', 'Terminated', 'Killed'].includes(Type))
      .map(({ Type, Details }) => [Type, ...Object.values(Details ?? {})].join(': '));
  const running = () => becomes(alloc.states, { web: 'running' });
  /** Returns the token that the newest agent knows. */
  const known = () => machines.at(-1)?.of('vault', alloc.alloc.ID, 'web')?.login.token;
  return { ...alloc, known, services, wanted, envs, becomes, file, told, running };
}

describe('tokens of Vault and Consul in a task', () => {
  it('AU-166: are in its environment with the address, and in files that only its user reads', async () => {
    const { runner, running, envs, file, services } = loggedIn({ Vault: vaultBlock(), Consul: CONSUL });
    runner.runAllocation();
    await running();
    expect(envs).toEqual([
      { VAULT_TOKEN: 'token 1', VAULT_ADDR: 'https://vault' },
      { CONSUL_TOKEN: 'token 1', CONSUL_HTTP_TOKEN: 'token 1', CONSUL_HTTP_ADDR: 'https://consul' },
    ]);
    expect(await file('secrets/vault_token')).toBe('token 1');
    expect(await file('secrets/consul_token')).toBe('token 1');
    expect((await stat(inTask('private/vault_login.json'))).mode & 0o777).toBe(0o600);
    expect(services.vault.requests).toEqual(['login jwt of vault_default']);
    expect(services.consul.requests).toEqual(['login jwt of consul_default']);
  });

  it("AU-166: neither file nor variable if the block says so, and the task's own address stays", async () => {
    const Env = { VAULT_ADDR: 'http://proxy' };
    const Vault = vaultBlock({ DisableFile: true, Namespace: 'team' });
    const first = loggedIn({ Vault, Env });
    first.runner.runAllocation();
    await first.running();
    expect(first.envs).toEqual([{ VAULT_TOKEN: 'token 1', VAULT_NAMESPACE: 'team' }]);
    expect(await readdir(inTask('secrets'))).toEqual([]);
    const second = loggedIn({ Vault: vaultBlock({ Env: false }) });
    second.runner.runAllocation();
    await second.running();
    expect(second.envs).toEqual([]);
    expect(await second.file('secrets/vault_token')).toBe('token 1');
  });

  it('AU-165: the block chooses role and namespace, and the consul block may be that of the group', async () => {
    const Consul = { Namespace: 'shop', Cluster: 'default', Partition: 'east' };
    const Vault = vaultBlock({ Role: 'reader', Namespace: 'team', AllowTokenExpiration: true });
    const { runner, running, wanted } = loggedIn({ Vault }, { group: { Consul } });
    runner.runAllocation();
    await running();
    expect(wanted).toMatchObject([
      { role: 'reader', namespace: 'team', keepsAlive: false, identity: 'vault_default' },
      { namespace: 'shop', partition: 'east', keepsAlive: true, identity: 'consul_default' },
    ]);
  });

  it('AU-165: a task without blocks logs in nowhere', async () => {
    const { runner, running, services } = loggedIn({});
    runner.runAllocation();
    await running();
    expect([...services.vault.requests, ...services.consul.requests]).toEqual([]);
  });

  it('AU-164: a machine that does not know the cluster fails the task and names the setting', async () => {
    const { runner, becomes, told, states } = loggedIn({ Vault: vaultBlock({ Cluster: 'team' }) });
    runner.runAllocation();
    await becomes(states, { web: 'dead failed' });
    expect(told()).toContain(
      'Task hook failed: vault: this machine does not know the cluster "team": set WAYBILL_AGENT_VAULT',
    );
  });

  it('AU-165: a refused login is an event, and the restart policy decides', async () => {
    const RestartPolicy = { Attempts: 1, Interval: 60e9, Delay: 1e9, Mode: 'fail', RenderTemplates: false };
    const { runner, becomes, told, states, time, services } = loggedIn(
      { Vault: vaultBlock(), RestartPolicy },
      { mood: 'refusing' },
    );
    runner.runAllocation();
    const failure = 'Task hook failed: vault: login failed: Vault answered 400: role "x" does not exist';
    await becomes(() => told().filter((event) => event === failure).length, 1);
    await time.pass(1_500);
    await becomes(states, { web: 'dead failed' });
    expect(told().filter((event) => event === failure)).toHaveLength(2);
    expect(services.vault.requests.filter((request) => request.startsWith('login'))).toHaveLength(2);
  });

  it('API-351: a service of Consul in the group fails the task, because nobody would register it', async () => {
    const Services = [aService({ Provider: 'consul', Name: 'web' })];
    const { runner, becomes, told, states } = loggedIn({}, { group: { Services } });
    runner.runAllocation();
    await becomes(states, { web: 'dead failed' });
    expect(told().join()).toContain('consul: service "web" has the provider consul');
  });
});

describe('a new token', () => {
  const HALF_MS = 30_000;

  it.each([
    ['restart', 'Restart Signaled: Vault: new Vault token acquired'],
    ['signal', 'Signaling: SIGHUP: Vault: new Vault token acquired'],
    ['noop', undefined],
  ])('AU-166: is in the file first, then change_mode %s acts', async (ChangeMode, event) => {
    const { runner, running, services, becomes, file, told, time, envs } = loggedIn({
      Vault: vaultBlock({ ChangeMode }),
    });
    runner.runAllocation();
    await running();
    services.vault.lost.add('token 1');
    await time.pass(HALF_MS);
    await becomes(() => file('secrets/vault_token'), 'token 2');
    await becomes(told, event === undefined ? [] : [event]);
    if (ChangeMode !== 'restart') return expect(envs).toHaveLength(1);
    await becomes(() => envs.length, 2);
    expect(envs[1]?.['VAULT_TOKEN']).toBe('token 2');
    await running();
  });

  it('AU-166: of Consul is in the file and disturbs nobody', async () => {
    const { runner, running, services, becomes, file, told, time } = loggedIn({ Consul: CONSUL });
    runner.runAllocation();
    await running();
    services.consul.lost.add('token 1');
    await time.pass(HALF_MS);
    await becomes(() => file('secrets/consul_token'), 'token 2');
    expect(told()).toEqual([]);
  });
});

describe('the end', () => {
  it('AU-168: of the task makes its tokens invalid, of the agent it does not', async () => {
    const { runner, running, services, becomes } = loggedIn({ Vault: vaultBlock(), Consul: CONSUL });
    runner.runAllocation();
    await running();
    const killed = runner.destroy();
    await becomes(() => services.vault.requests.at(-1), 'end token 1');
    await becomes(() => services.consul.requests.at(-1), 'end token 1');
    await killed;
  });

  it('AU-168: of the agent leaves the token, and the next one goes on with it', async () => {
    const { runner, running, known, services, records, alloc, make, driver, becomes, time } = loggedIn({
      Vault: vaultBlock(),
    });
    runner.runAllocation();
    await running();
    await becomes(() => records.saved.get(alloc.ID)?.tasks['web']?.state.State, 'running');
    const next = make(records.saved.get(alloc.ID), driver);
    next.runAllocation();
    await becomes(() => next.clientUpdate().TaskStates['web']?.State, 'running');
    await becomes(known, 'token 1');
    await time.pass(1_000);
    expect(next.clientUpdate().TaskStates['web']?.Events.some(({ Type }) => Type === 'Restart Signaled')).toBe(false);
    await time.pass(40_000);
    expect(services.vault.requests.filter((request) => request.startsWith('login'))).toHaveLength(1);
  });

  it('AU-168: a token that the disk has lost is replaced when the agent is back, and the task is told', async () => {
    const { runner, running, services, records, alloc, make, driver, becomes, file } = loggedIn({
      Vault: vaultBlock({ ChangeMode: 'noop' }),
    });
    runner.runAllocation();
    await running();
    await becomes(() => records.saved.get(alloc.ID)?.tasks['web']?.state.State, 'running');
    await writeFile(inTask('private/vault_login.json'), '{"token":');
    const next = make(records.saved.get(alloc.ID), driver);
    next.runAllocation();
    await becomes(() => file('secrets/vault_token'), 'token 2');
    expect(services.vault.requests.filter((request) => request.startsWith('login'))).toHaveLength(2);
  });
});
