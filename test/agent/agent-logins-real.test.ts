import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Allocation, TaskState } from '@waybill/model';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApiClient, shellJob } from '../support/api-client.js';
import { ConsulServer } from '../support/consul-server.js';
import { VaultServer } from '../support/vault-server.js';
import { eventually } from '../support/wait.js';
import { WaybillProcesses } from '../support/waybill-processes.js';

const VAULT = process.env['VAULT_BIN'];
const CONSUL = process.env['CONSUL_BIN'];

describe.skipIf(!VAULT || !CONSUL)('real Vault and Consul (needs VAULT_BIN and CONSUL_BIN)', () => {
  let vault: VaultServer;
  let consul: ConsulServer;
  let waybill: WaybillProcesses;
  let api: ApiClient;
  let dir: string;

  beforeAll(async () => {
    dir = await mkdtemp(path.join(tmpdir(), 'waybill-logins-'));
    [vault, consul] = await Promise.all([VaultServer.start(VAULT!), ConsulServer.start(CONSUL!)]);
    const token_file = path.join(dir, 'token');
    await writeFile(token_file, `${consul.managementToken}\n`);
    waybill = await WaybillProcesses.startTogether({
      WAYBILL_KEYRING_KEY: 'ab'.repeat(32),
      WAYBILL_VAULT: 'default=vault.io',
      WAYBILL_CONSUL: 'default=consul.io',
      WAYBILL_AGENT_VAULT: vault.url,
      WAYBILL_AGENT_CONSUL: JSON.stringify({ default: { address: consul.url, token_file } }),
    });
    api = waybill.api;
    await configureVault();
    await configureConsul();
  }, 300_000);
  afterAll(async () => {
    await waybill?.stop();
    await Promise.all([vault?.stop(), consul?.stop()]);
    await rm(dir, { recursive: true, force: true });
  });

  /** Configures Vault as docs/secrets.md says, but for the life of its tokens. */
  async function configureVault(): Promise<void> {
    const claims = { nomad_namespace: 'nomad_namespace', nomad_job_id: 'nomad_job_id', nomad_task: 'nomad_task' };
    await vault.asked('POST', 'sys/auth/jwt-nomad', { type: 'jwt' });
    await vault.asked('POST', 'auth/jwt-nomad/config', {
      jwks_url: `${api.url}/.well-known/jwks.json`,
      default_role: 'tasks',
    });
    await vault.asked('POST', 'auth/jwt-nomad/role/tasks', {
      role_type: 'jwt',
      bound_audiences: ['vault.io'],
      user_claim: '/nomad_job_id',
      user_claim_json_pointer: true,
      claim_mappings: claims,
      token_type: 'service',
      token_policies: ['tasks'],
      token_period: '8s',
      token_explicit_max_ttl: 0,
    });
    const policy = 'path "secret/*" { capabilities = ["read", "list"] }';
    await vault.asked('PUT', 'sys/policies/acl/tasks', { policy });
  }

  async function configureConsul(): Promise<void> {
    await consul.asked('PUT', 'acl/policy', {
      Name: 'tasks',
      Rules:
        'key_prefix "app/" { policy = "read" }\nservice_prefix "" { policy = "read" }\nnode_prefix "" { policy = "read" }',
    });
    await consul.asked('PUT', 'acl/role', { Name: 'tasks', Policies: [{ Name: 'tasks' }] });
    await consul.asked('PUT', 'acl/auth-method', {
      Name: 'nomad-workloads',
      Type: 'jwt',
      Config: {
        JWKSURL: `${api.url}/.well-known/jwks.json`,
        JWTSupportedAlgs: ['RS256'],
        BoundAudiences: ['consul.io'],
        ClaimMappings: { nomad_namespace: 'nomad_namespace', nomad_job_id: 'nomad_job_id', nomad_task: 'nomad_task' },
      },
    });
    await consul.asked('PUT', 'acl/binding-rule', {
      AuthMethod: 'nomad-workloads',
      BindType: 'role',
      BindName: 'tasks',
      Selector: '"nomad_task" in value',
    });
  }

  function jobWith(id: string, line: string, task: object): object {
    const job = shellJob(id, line);
    Object.assign((job as { TaskGroups: { Tasks: object[] }[] }).TaskGroups[0]!.Tasks[0]!, task);
    return job;
  }
  const allocOf = (job: string) =>
    eventually(`${job} runs`, async () => {
      const [found] = await api.get<Allocation[]>(`/v1/job/${job}/allocations`);
      return found?.ClientStatus === 'running' && api.get<Allocation>(`/v1/allocation/${found.ID}`);
    });
  const stateOf = async ({ ID }: Allocation): Promise<TaskState> =>
    (await api.get<Allocation>(`/v1/allocation/${ID}`)).TaskStates['task']!;
  const linesOf = async ({ ID }: Allocation): Promise<string[]> =>
    (await (await api.raw(`/v1/client/fs/logs/${ID}?task=task&type=stdout&plain=true`)).text()).trim().split('\n');
  const acceptsVault = (token: string) =>
    vault.asked('GET', 'auth/token/lookup-self', undefined, token).then(
      () => true,
      () => false,
    );
  const acceptsConsul = (token: string) =>
    consul.asked('GET', 'acl/token/self', undefined, token).then(
      () => true,
      () => false,
    );

  it('AU-163 to AU-168: a task logs in, outlives the life of its token, replaces a lost one, and ends both', async () => {
    const line = 'echo "$(cat secrets/vault_token) $CONSUL_HTTP_TOKEN"; while :; do sleep 0.1; done';
    await api.register(jobWith('both', line, { Vault: {}, Consul: {} }));
    const alloc = await allocOf('both');
    const [first = ''] = await eventually('it has shown its tokens', async () => {
      const lines = await linesOf(alloc);
      return lines[0] !== '' && lines;
    });
    const [ofVault = '', ofConsul = ''] = first.split(' ');
    const { data } = await vault.asked<{ data: { issue_time: string; meta: object } }>(
      'GET',
      'auth/token/lookup-self',
      undefined,
      ofVault,
    );
    expect(data.meta).toMatchObject({ nomad_job_id: 'both', nomad_task: 'task', nomad_namespace: 'default' });
    expect(await acceptsConsul(ofConsul)).toBe(true);

    const outlived = Date.parse(data.issue_time) + 20_000;
    await eventually('the token has outlived its life twice', () => Date.now() > outlived, 30_000);
    expect(await acceptsVault(ofVault)).toBe(true);
    expect((await stateOf(alloc)).Restarts).toBe(0);

    await vault.asked('POST', 'auth/token/revoke', { token: ofVault });
    const next = await eventually('the task started again with a new token', async () => {
      const [, again] = await linesOf(alloc);
      return again?.split(' ')[0];
    });
    expect(next).not.toBe(ofVault);
    expect(await acceptsVault(next)).toBe(true);

    await api.raw('/v1/job/both', { method: 'DELETE' });
    await eventually(
      'the tokens have ended',
      async () => !(await acceptsVault(next)) && !(await acceptsConsul(ofConsul)),
    );
  });

  it('AG-298, AG-299: templates read secrets, keys and services, and follow their changes', async () => {
    await vault.asked('POST', 'secret/data/app', { data: { password: 'one' } });
    await consul.asked('PUT', 'kv/app/mode', 'slow');
    await consul.asked('PUT', 'agent/service/register', { Name: 'db', Address: '10.1.1.1', Port: 5432 });
    const EmbeddedTmpl =
      '{{ with secret "secret/data/app" }}{{ .Data.data.password }}{{ end }} {{ key "app/mode" }} ' +
      '{{ range ls "app" }}{{ .Key }}{{ end }} {{ range service "db" }}{{ .Address }}:{{ .Port }}{{ end }} ' +
      '{{ range secrets "secret/metadata" }}{{ . }}{{ end }} {{ range services }}{{ .Name }},{{ end }}';
    const template = { EmbeddedTmpl, DestPath: 'local/conf', ChangeMode: 'signal', ChangeSignal: 'SIGHUP', Splay: 0 };
    const line = 'trap "cat local/conf; echo" HUP; cat local/conf; echo; while :; do sleep 0.1; done';
    await api.register(jobWith('reader', line, { Vault: {}, Consul: {}, Templates: [template] }));
    const alloc = await allocOf('reader');
    const says = (text: string) => eventually(`it says ${text}`, async () => (await linesOf(alloc)).at(-1) === text);
    await says('one slow mode 10.1.1.1:5432 app consul,db,');
    await consul.asked('PUT', 'kv/app/mode', 'fast');
    await says('one fast mode 10.1.1.1:5432 app consul,db,');
    await consul.asked('PUT', 'agent/service/register', { Name: 'db', Address: '10.1.1.2', Port: 5433 });
    await says('one fast mode 10.1.1.2:5433 app consul,db,');
    await api.raw('/v1/job/reader', { method: 'DELETE' });
  });

  it('AG-298: a path that the policy does not allow is named with the reason of Vault', async () => {
    const Templates = [{ EmbeddedTmpl: '{{ with secret "sys/mounts" }}{{ .Data }}{{ end }}', DestPath: 'local/conf' }];
    await api.register(jobWith('curious', 'sleep 100', { Vault: {}, Templates }));
    await eventually('the event is there', async () => {
      const [found] = await api.get<Allocation[]>('/v1/job/curious/allocations');
      const events = found && (await stateOf(found))?.Events;
      return events?.some(({ DisplayMessage }) =>
        /^Missing: vault\.read\(sys\/mounts\): Vault answered 403: .*permission denied/.test(DisplayMessage),
      );
    });
    await api.raw('/v1/job/curious', { method: 'DELETE' });
  });

  it('AU-165: an unknown role is an event with the reason of Vault', async () => {
    await api.register(jobWith('refused', 'sleep 1', { Vault: { Role: 'nobody' } }));
    await eventually('the event is there', async () => {
      const [found] = await api.get<Allocation[]>('/v1/job/refused/allocations');
      const events = found && (await stateOf(found))?.Events;
      return events?.some(({ DisplayMessage }) =>
        /^vault: login failed: Vault answered 400: .*nobody/.test(DisplayMessage),
      );
    });
    await api.raw('/v1/job/refused', { method: 'DELETE' });
  });
});
