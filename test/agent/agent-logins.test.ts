import type { Allocation, Job, Node, TaskState } from '@waybill/model';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApiClient, shellJob } from '../support/api-client.js';
import { LoginSite } from '../support/login-site.js';
import { eventually } from '../support/wait.js';
import { WaybillProcesses } from '../support/waybill-processes.js';

let site: LoginSite;
let waybill: WaybillProcesses;
let api: ApiClient;

beforeAll(async () => {
  site = await LoginSite.start();
  waybill = await WaybillProcesses.startTogether({
    WAYBILL_KEYRING_KEY: 'ab'.repeat(32),
    WAYBILL_VAULT: 'default=vault.io',
    WAYBILL_CONSUL: '{"default":{"aud":["consul.io"],"ttl":"30m"}}',
    WAYBILL_AGENT_VAULT: JSON.stringify({ default: { address: site.url, role: 'tasks' } }),
    WAYBILL_AGENT_CONSUL: site.url,
  });
  api = waybill.api;
  site.trust(api.url);
  await eventually('the machine reaches both', async () => {
    const [stub] = await api.get<{ ID: string; Status: string }[]>('/v1/nodes');
    const node = stub?.Status === 'ready' && (await api.get<Node>(`/v1/node/${stub.ID}`));
    return node && node.Attributes['vault.version'] === '1.14.1' && node.Attributes['consul.version'] === '1.16.1';
  });
});
afterAll(async () => {
  await waybill?.stop();
  await site?.stop();
});

function jobWith(id: string, line: string, task: object): object {
  const job = shellJob(id, line);
  Object.assign((job as { TaskGroups: { Tasks: object[] }[] }).TaskGroups[0]!.Tasks[0]!, task);
  return job;
}

const allocOf = (job: string, status = 'running') =>
  eventually(`${job} is ${status}`, async () => {
    const [found] = await api.get<Allocation[]>(`/v1/job/${job}/allocations`);
    return found?.ClientStatus === status && api.get<Allocation>(`/v1/allocation/${found.ID}`);
  });
const stateOf = async ({ ID }: Allocation): Promise<TaskState> =>
  (await api.get<Allocation>(`/v1/allocation/${ID}`)).TaskStates['task']!;
const linesOf = async ({ ID }: Allocation): Promise<string[]> =>
  (await (await api.raw(`/v1/client/fs/logs/${ID}?task=task&type=stdout&plain=true`)).text()).trim().split('\n');

const SHOW =
  'echo "$VAULT_TOKEN $VAULT_ADDR $CONSUL_HTTP_TOKEN $CONSUL_HTTP_ADDR $CONSUL_TOKEN"; ' +
  'echo "$(cat secrets/vault_token) $(cat secrets/consul_token)"; while :; do sleep 0.1; done';

describe('tasks with vault and consul blocks', () => {
  it('AU-163 to AU-168: log in, receive their tokens, keep them alive, replace lost ones, and end them', async () => {
    await api.register(jobWith('both', SHOW, { Vault: {}, Consul: {} }));
    const job = await api.get<Job>('/v1/job/both');
    expect(job.TaskGroups[0]?.Tasks[0]?.Identities?.map(({ Name, Audience }) => [Name, Audience])).toEqual([
      ['consul_default', ['consul.io']],
      ['vault_default', ['vault.io']],
    ]);
    const alloc = await allocOf('both');
    const [env, files] = await eventually('it has shown its tokens', async () => {
      const lines = await linesOf(alloc);
      return lines.length >= 2 && lines;
    });
    const [vault = '', vaultAt, consul = '', consulAt, other] = (env ?? '').split(' ');
    expect([vaultAt, consulAt, other]).toEqual([site.url, site.url, consul]);
    expect(files).toBe(`${vault} ${consul}`);
    expect([vault, consul].map((token) => site.isValid(token))).toEqual([true, true]);

    await eventually('the token of Vault is renewed twice', () => (site.tokens.get(vault)?.renewals ?? 0) >= 2);
    expect((await stateOf(alloc)).Restarts).toBe(0);

    site.revoke(vault);
    const next = await eventually('the task started again with a new token', async () => {
      const [, , again] = await linesOf(alloc);
      return again?.split(' ')[0];
    });
    expect(next).not.toBe(vault);
    expect(site.isValid(next)).toBe(true);
    const reasons = (await stateOf(alloc)).Events.map(({ DisplayMessage }) => DisplayMessage);
    expect(reasons).toContain('Vault: new Vault token acquired');

    await api.raw('/v1/job/both', { method: 'DELETE' });
    await eventually('the tokens have ended', () => !site.isValid(next) && !site.isValid(consul));
  });

  it('AG-298, AG-299: templates read with the tokens, are rendered again after a change, and tell the task', async () => {
    site.secrets.set('secret/data/app', { data: { password: 'one' } });
    site.setKey('app/mode', 'slow');
    const EmbeddedTmpl =
      '{{ with secret "secret/data/app" }}{{ .Data.data.password }}{{ end }} {{ key "app/mode" }} ' +
      '{{ keyOrDefault "app/none" "default" }} {{ range service "db" }}{{ .Address }}:{{ .Port }}{{ end }}';
    const template = { EmbeddedTmpl, DestPath: 'local/conf', ChangeMode: 'signal', ChangeSignal: 'SIGHUP', Splay: 0 };
    const line = 'trap "cat local/conf; echo" HUP; cat local/conf; echo; while :; do sleep 0.1; done';
    await api.register(jobWith('reader', line, { Vault: { ChangeMode: 'noop' }, Consul: {}, Templates: [template] }));
    const alloc = await allocOf('reader');
    const says = (line: string) => eventually(`it says ${line}`, async () => (await linesOf(alloc)).at(-1) === line);
    await says('one slow default 10.1.1.1:5432');
    site.setKey('app/mode', 'fast');
    await says('one fast default 10.1.1.1:5432');
    site.secrets.set('secret/data/app', { data: { password: 'two' } });
    await says('two fast default 10.1.1.1:5432');
    expect((await stateOf(alloc)).Restarts).toBe(0);
    await api.raw('/v1/job/reader', { method: 'DELETE' });
  });

  it('AG-298: a secret that does not exist holds the task back, with an event', async () => {
    const EmbeddedTmpl = '{{ with secret "secret/data/late" }}{{ .Data.data.password }}{{ end }}';
    const Templates = [{ EmbeddedTmpl, DestPath: 'local/conf' }];
    await api.register(jobWith('early', 'cat local/conf; sleep 100', { Vault: {}, Templates }));
    await eventually('the event is there', async () => {
      const [found] = await api.get<Allocation[]>('/v1/job/early/allocations');
      const events = found && (await stateOf(found))?.Events;
      return events?.some(({ DisplayMessage }) => DisplayMessage === 'Missing: vault.read(secret/data/late)');
    });
    await api.raw('/v1/job/early', { method: 'DELETE' });
  });

  it('AU-165: a refused login is an event with the reason', async () => {
    await api.register(jobWith('refused', SHOW, { Vault: { Role: 'nobody' } }));
    const failure = 'vault: login failed: Vault answered 400: role "nobody" could not be found';
    await eventually('the event is there', async () => {
      const [found] = await api.get<Allocation[]>('/v1/job/refused/allocations');
      const events = found && (await stateOf(found))?.Events;
      return events?.some(({ Type, DisplayMessage }) => Type === 'Task hook failed' && DisplayMessage === failure);
    });
    await api.raw('/v1/job/refused', { method: 'DELETE' });
  });

  it('AU-165: while Vault is away the task waits and says so; then it starts', async () => {
    site.isAway = true;
    await api.register(jobWith('patient', SHOW, { Vault: { DisableFile: true } }));
    await eventually('the event is there', async () => {
      const [found] = await api.get<Allocation[]>('/v1/job/patient/allocations');
      const events = found && (await stateOf(found))?.Events;
      return events?.some(({ DisplayMessage }) =>
        DisplayMessage.startsWith('vault: waiting for a token: Vault answered 503'),
      );
    });
    site.isAway = false;
    const alloc = await allocOf('patient');
    const [env = ''] = await eventually('it has shown its token', async () => {
      const lines = await linesOf(alloc);
      return lines[0] !== '' && lines;
    });
    expect(site.isValid(env.split(' ')[0] ?? '')).toBe(true);
    expect((await api.raw(`/v1/client/fs/stat/${alloc.ID}?path=task/secrets/vault_token`)).ok).toBe(false);
    await api.raw('/v1/job/patient', { method: 'DELETE' });
  });

  it('API-346, API-351: clusters that are not enabled, and services of Consul, are refused', async () => {
    const refusal = async (job: object): Promise<string> => {
      const response = await api.raw('/v1/jobs', { method: 'PUT', body: JSON.stringify({ Job: job }) });
      expect(response.status).toBe(400);
      return response.text();
    };
    expect(await refusal(jobWith('other', SHOW, { Vault: { Cluster: 'other' } }))).toContain(
      'Vault "other" not enabled but used in the job',
    );
    expect(await refusal(jobWith('served', SHOW, { Services: [{ Name: 'web' }] }))).toContain(
      'Service "web" has the provider consul',
    );
  });
});
