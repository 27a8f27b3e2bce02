import { describe, expect, it } from 'vitest';
import { NS_PER_HOUR } from '../time/clock.js';
import { decodeJob } from './decode-job.js';
import { consulBlockOf, type LoginClusters, loginErrors } from './login-clusters.js';
import type { Job } from './job.js';

const identity = (audience: string) => ({ Audience: [audience], TTL: NS_PER_HOUR, ExtraClaims: ['team'] });
const LOGINS: LoginClusters = {
  vault: { default: identity('vault.io'), team: identity('vault.team'), bare: null },
  consul: { default: identity('consul.io'), bare: null },
};

function stored(group: object, logins = LOGINS): Job {
  const Tasks = [{ Name: 'main', Driver: 'raw_exec' }];
  const json = { ID: 'web', TaskGroups: [{ Name: 'app', Tasks, ...group }] };
  return decodeJob(json, { region: 'global', submitTimeNs: 1, logins });
}

const withTask = (task: object, group: object = {}): Job =>
  stored({ ...group, Tasks: [{ Name: 'main', Driver: 'raw_exec', ...task }] });

const identitiesOf = (job: Job) => job.TaskGroups[0]?.Tasks.map(({ Identities }) => Identities);
const constraintsOf = (job: Job) =>
  job.TaskGroups[0]?.Constraints?.map(({ LTarget, Operand, RTarget }) => `${LTarget} ${Operand} ${RTarget}`);

describe('identities of tasks for Vault and Consul', () => {
  it('AU-163: a task with a block gets the identity of its cluster, as the settings of the API say', () => {
    const given = { ChangeMode: '', ChangeSignal: '', Env: false, File: false, Filepath: '', ServiceName: '' };
    const common = { ...given, TTL: NS_PER_HOUR, ExtraClaims: ['team'] };
    expect(identitiesOf(withTask({ Vault: {}, Consul: {} }))).toEqual([
      [
        { ...common, Name: 'consul_default', Audience: ['consul.io'] },
        { ...common, Name: 'vault_default', Audience: ['vault.io'] },
      ],
    ]);
    expect(identitiesOf(withTask({ Vault: { Cluster: 'team' } }))).toEqual([
      [{ ...common, Name: 'vault_team', Audience: ['vault.team'] }],
    ]);
  });

  it('AU-163: a consul block of the group is for each of its tasks, and a task without a block gets nothing', () => {
    const Tasks = ['a', 'b'].map((Name) => ({ Name, Driver: 'raw_exec' }));
    const names = identitiesOf(stored({ Consul: {}, Tasks }))?.map((found) => found?.map(({ Name }) => Name));
    expect(names).toEqual([['consul_default'], ['consul_default']]);
    expect(identitiesOf(stored({ Tasks }))).toEqual([null, null]);
  });

  it("AU-163: the job's own identity stays, and a job that is read back gets no second one", () => {
    const own = { Name: 'vault_default', Audience: ['mine'], TTL: 60e9 };
    const job = withTask({ Vault: {}, Identities: [own] });
    expect(identitiesOf(job)?.[0]).toMatchObject([{ Name: 'vault_default', Audience: ['mine'], TTL: 60e9 }]);
    const first = withTask({ Vault: {} });
    const again = decodeJob(first, { region: 'global', submitTimeNs: 1, logins: LOGINS });
    expect(again.TaskGroups).toEqual(first.TaskGroups);
  });

  it('AU-163: members that the task leaves out come from the consul block of its group, within one cluster', () => {
    const group = { Consul: { Namespace: 'shop', Cluster: 'team', Partition: 'east' } };
    const block = (over: object) => ({ Consul: { Namespace: '', Cluster: '', Partition: '', ...over } });
    expect(consulBlockOf(group, { Consul: null })).toEqual(group.Consul);
    expect(consulBlockOf(group, block({ Namespace: 'own' }))).toEqual({ ...group.Consul, Namespace: 'own' });
    expect(consulBlockOf(group, block({ Cluster: 'other' }))).toEqual(block({ Cluster: 'other' }).Consul);
    expect(consulBlockOf({ Consul: null }, block({}))).toEqual(block({ Cluster: 'default' }).Consul);
    expect(consulBlockOf({ Consul: null }, { Consul: null })).toBeNull();
  });

  it('API-320, API-322: a group waits for a machine that reaches the clusters of its tasks, each once', () => {
    const vault = (Cluster: string) => ({ Name: Cluster, Driver: 'raw_exec', Vault: { Cluster } });
    const job = stored({ Consul: {}, Tasks: [vault('default'), vault('team'), { ...vault('team'), Name: 'third' }] });
    const identities = '${attr.nomad.version} semver >= 1.7.0-a';
    expect(constraintsOf(job)).toEqual([
      '${attr.consul.version} semver >= 1.8.0',
      '${attr.vault.version} semver >= 0.6.1',
      '${attr.vault.team.version} semver >= 0.6.1',
      identities,
    ]);
    const Constraints = [{ LTarget: '${attr.vault.version}', RTarget: '>= 1.15.0', Operand: 'semver' }];
    expect(constraintsOf(stored({ Constraints, Tasks: [vault('default')] }))).toEqual([
      '${attr.vault.version} semver >= 1.15.0',
      identities,
    ]);
  });
});

describe('clusters that a job may not use', () => {
  it('API-346: of each product the first cluster that is not enabled is named, with the setting', () => {
    const Tasks = [
      { Name: 'a', Driver: 'raw_exec', Vault: { Cluster: 'x' }, Consul: { Cluster: 'y' } },
      { Name: 'b', Driver: 'raw_exec', Vault: { Cluster: 'z' } },
    ];
    expect(loginErrors(stored({ Tasks }), LOGINS)).toEqual([
      'Vault "x" not enabled but used in the job. Enable it with WAYBILL_VAULT of the API, or remove the block',
      'Consul "y" not enabled but used in the job. Enable it with WAYBILL_CONSUL of the API, or remove the block',
    ]);
    expect(loginErrors(withTask({ Vault: { Cluster: 'team' }, Consul: {} }), LOGINS)).toEqual([]);
    // A name that every object has is no cluster.
    expect(loginErrors(withTask({ Vault: { Cluster: 'constructor' } }), LOGINS)).toHaveLength(1);
  });

  it('API-351: a cluster without a default identity needs one of the job', () => {
    const Identities = [{ Name: 'vault_bare', Audience: ['vault.io'], TTL: NS_PER_HOUR }];
    expect(loginErrors(withTask({ Vault: { Cluster: 'bare' }, Identities }), LOGINS)).toEqual([]);
    expect(loginErrors(withTask({ Vault: { Cluster: 'bare' }, Consul: { Cluster: 'bare' } }), LOGINS)).toEqual([
      'Task "main" uses Consul "bare", which has no default identity. ' +
        'Add identity { name = "consul_bare" } with aud and ttl to the task',
      'Task "main" uses Vault "bare", which has no default identity. ' +
        'Add identity { name = "vault_bare" } with aud and ttl to the task',
    ]);
  });

  it('API-351: services of an enabled Consul are refused, because nobody would register them', () => {
    const refused = (Name: string) =>
      `Service "${Name}" has the provider consul, but Waybill registers no services in Consul. Set provider = "nomad"`;
    const own = { Name: 'own' };
    const Services = [{ Name: 'ours' }, { Name: 'native', Provider: 'nomad' }, { Name: 'far', Cluster: 'elsewhere' }];
    const job = withTask({ Services: [own] }, { Services });
    expect(loginErrors(job, LOGINS)).toEqual([refused('ours'), refused('own')]);
    expect(loginErrors(job, { vault: {}, consul: {} })).toEqual([]);
  });
});
