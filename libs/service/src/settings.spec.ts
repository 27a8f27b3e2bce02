import { defaultSchedulerConfiguration, NS_PER_HOUR, NS_PER_MINUTE } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { readSettings, SettingsError } from './settings.js';

const read = (env: NodeJS.ProcessEnv) => readSettings(env, []);
/** What is wrong with a setting, in one text. */
function refusal(env: NodeJS.ProcessEnv): string {
  try {
    read(env);
  } catch (error) {
    if (error instanceof SettingsError) return error.message;
    throw error;
  }
  throw new Error('was taken');
}

it('API-1: the API listens on port 4646 of this machine unless it is told otherwise', () => {
  expect(read({})).toMatchObject({ WAYBILL_HTTP_PORT: 4646, WAYBILL_HTTP_HOST: '127.0.0.1' });
});

it('AU-182: the issuer of identities is a URL, or there is none', () => {
  for (const issuer of ['', 'https://waybill.example', 'http://10.0.0.1:4646/base'])
    expect(read({ WAYBILL_OIDC_ISSUER: issuer }).WAYBILL_OIDC_ISSUER).toBe(issuer);
  for (const issuer of ['waybill.example', '/base', 'https://'])
    expect(refusal({ WAYBILL_OIDC_ISSUER: issuer })).toContain(
      `WAYBILL_OIDC_ISSUER=${JSON.stringify(issuer)} is not usable: no URL that others can begin with`,
    );
});

it('AU-264: an admission to NATS lasts for a day unless told otherwise, and for ten minutes at least', () => {
  const ttl = (text?: string) =>
    read(text === undefined ? {} : { WAYBILL_NATS_ADMISSION_TTL: text }).WAYBILL_NATS_ADMISSION_TTL;
  expect([ttl(), ttl('1h'), ttl('10m')]).toEqual([24 * NS_PER_HOUR, NS_PER_HOUR, 10 * NS_PER_MINUTE]);
  for (const [text, reason] of [
    ['9m59s', 'should be at least 10m'],
    ['0s', 'should be greater than 0s'],
    ['soon', 'invalid duration'],
  ])
    expect(refusal({ WAYBILL_NATS_ADMISSION_TTL: text })).toContain(reason);
});

describe('API-351: clusters of Vault and Consul that jobs may use', () => {
  const identity = (aud: string, TTL = NS_PER_HOUR) => ({ Audience: [aud], TTL, ExtraClaims: null });

  it('are none, pairs of cluster and audience, or JSON', () => {
    expect(read({})).toMatchObject({ WAYBILL_VAULT: {}, WAYBILL_CONSUL: {} });
    expect(read({ WAYBILL_VAULT: '' }).WAYBILL_VAULT).toEqual({});
    expect(read({ WAYBILL_CONSUL: 'default=consul.io,team=consul.team' }).WAYBILL_CONSUL).toEqual({
      default: identity('consul.io'),
      team: identity('consul.team'),
    });
    const json = { default: { aud: ['a', 'b'], ttl: '30m', extra_claims: ['team'] }, bare: {} };
    expect(read({ WAYBILL_VAULT: JSON.stringify(json) }).WAYBILL_VAULT).toEqual({
      default: { Audience: ['a', 'b'], TTL: NS_PER_HOUR / 2, ExtraClaims: ['team'] },
      bare: null,
    });
  });

  it.each([
    ['vault.io', 'cluster=audience with commas between'],
    ['{"default":', 'cluster=audience with commas between'],
    ['two words=x', 'up to 64 letters'],
    ['{"default":{"aud":"vault.io"}}', 'array'],
    ['{"default":{"audience":["x"]}}', 'audience'],
    ['{"default":{"aud":["x"],"ttl":"19s"}}', 'at least 20s'],
    ['{"default":{"aud":["x"],"ttl":"soon"}}', 'at least 20s'],
  ])('%s is refused', (text, reason) => {
    expect(refusal({ WAYBILL_VAULT: text })).toContain('WAYBILL_VAULT=');
    expect(refusal({ WAYBILL_VAULT: text })).toContain(reason);
  });
});

describe('AU-164: the Vault and Consul that a machine uses', () => {
  const NONE = { namespace: '', ca_file: '', cert_file: '', key_file: '', tls_server_name: '' };
  const VAULT = { ...NONE, auth_path: 'jwt-nomad', role: '' };
  const CONSUL = { ...NONE, auth_method: 'nomad-workloads', partition: '', token_file: '' };

  it('are none, a URL, or JSON by cluster', () => {
    expect(read({})).toMatchObject({ WAYBILL_AGENT_VAULT: {}, WAYBILL_AGENT_CONSUL: {} });
    const address = 'https://vault.example:8200';
    expect(read({ WAYBILL_AGENT_VAULT: address }).WAYBILL_AGENT_VAULT).toEqual({ default: { ...VAULT, address } });
    const local = { address: 'http://127.0.0.1:8500', partition: 'east' };
    expect(read({ WAYBILL_AGENT_CONSUL: JSON.stringify({ team: local }) }).WAYBILL_AGENT_CONSUL).toEqual({
      team: { ...CONSUL, ...local },
    });
  });

  it.each([
    ['http://vault.example:8200', 'http:// is for this machine only'],
    ['https://user:hunter2@vault.example', 'http:// is for this machine only'],
    ['vault.example:8200', 'http:// is for this machine only'],
    ['{"default":', 'a URL such as'],
    ['{"two words":{"address":"https://v"}}', 'up to 64 letters'],
    ['{"default":{"address":"https://v","auth_method":"x"}}', 'auth_method'],
    ['{"default":{"address":"https://v","auth_path":"a?b"}}', 'letters, digits'],
  ])('%s is refused', (text, reason) => {
    expect(refusal({ WAYBILL_AGENT_VAULT: text })).toContain(reason);
    expect(refusal({ WAYBILL_AGENT_VAULT: text })).not.toContain('hunter2');
  });
});

it('AU-227: unset, a token that expires lives for a minute to a day', () => {
  expect(read({})).toMatchObject({
    WAYBILL_ACL_TOKEN_MIN_EXPIRATION_TTL: NS_PER_MINUTE,
    WAYBILL_ACL_TOKEN_MAX_EXPIRATION_TTL: 24 * NS_PER_HOUR,
  });
});

it.each([
  ['WAYBILL_NATS_URL', 'http://user:hunter2@broker:4222', '="http://…@broker:4222" is not usable'],
  ['WAYBILL_DATABASE_URL', 'mysql://user:hunter2@db/waybill', '="mysql://…@db/waybill" is not usable'],
  ['WAYBILL_DATABASE_URL', 'mysql://db/waybill?user=w&password=hunter2', '="mysql://db/waybill?user=w&password=…"'],
  ['WAYBILL_PEERS', 'east=http://user:p@hunter2@east', '="east=http://…@east" is not usable'],
  ['WAYBILL_PEERS', 'nats://user:hunter2@east', '"nats://…@east" is none'],
])('what is said of an unusable %s=%s has no password in it', (name, value, said) => {
  const text = refusal({ [name]: value });
  expect(text).toContain(name);
  expect(text).toContain(said);
  expect(text).not.toContain('hunter2');
});

it.each([
  ['WAYBILL_NATS_URL', 'nats://'],
  ['WAYBILL_NATS_URL', 'nats://127.0.0.1:99999'],
  ['WAYBILL_NATS_URL', 'nats://a:4222,http://b'],
  ['WAYBILL_PEERS', 'west=nats://'],
  ['WAYBILL_PEERS', 'west=nats://west:port#/file'],
  ['WAYBILL_DATABASE_URL', 'postgres://user@host:port/waybill'],
  ['WAYBILL_DATABASE_URL', 'postgres://user:100%@host/waybill'],
  ['WAYBILL_METRICS_STATSD_ADDRESS', 'localhost:99999'],
  ['WAYBILL_HTTP_RESPONSE_HEADERS', 'two words=x'],
  ['WAYBILL_HTTP_RESPONSE_HEADERS', 'x-lines=a\nb'],
  ['WAYBILL_HTTP_ALLOWED_HOSTS', 'nomad.example.com:4646'],
  ['WAYBILL_HTTP_ALLOWED_HOSTS', 'a,*.example.com'],
  ['WAYBILL_HTTP_ALLOWED_ORIGINS', 'https://ui.example.com/'],
  ['WAYBILL_HTTP_ALLOWED_ORIGINS', 'ui.example.com'],
  ['WAYBILL_HTTP_ALLOWED_ORIGINS', '*'],
  ['WAYBILL_RESERVED_PORTS', '9000-8000'],
  ['WAYBILL_RESERVED_PORTS', '70000'],
  ['WAYBILL_RAW_EXEC_DENIED_UIDS', '2000-1000'],
  ['WAYBILL_MIN_DYNAMIC_PORT', '40000'],
  ['WAYBILL_MAX_KILL_TIMEOUT_MS', '2147483648'],
  ['WAYBILL_DEFAULT_SCHEDULER_CONFIG', 'paused'],
  ['WAYBILL_DEFAULT_SCHEDULER_CONFIG', '{"PauseBroker":true}'],
  ['WAYBILL_DEFAULT_SCHEDULER_CONFIG', '{"SchedulerAlgorithm":"random"}'],
  ['WAYBILL_DEFAULT_SCHEDULER_CONFIG', '{"PreemptionConfig":{"SystemSchedulerEnabled":1}}'],
])('%s=%s is refused before anything starts, and named', (name, value) => {
  expect(refusal({ [name]: value }).split('\n')).toEqual([expect.stringMatching(new RegExp(`^${name}=`))]);
});

it.each([
  ['WAYBILL_NATS_URL', 'nats://a:4222, b:4222,tls://user:secret@[::1]:4222'],
  ['WAYBILL_PEERS', 'west=nats://west:4222#/etc/waybill/west.seed,east=tls://east'],
  ['WAYBILL_DATABASE_URL', 'postgres:///waybill?host=/run/postgresql'],
  ['WAYBILL_DATABASE_URL', 'postgresql://user:p%40ss@[::1]:5432/waybill?sslmode=require'],
  ['WAYBILL_HTTP_ALLOWED_HOSTS', 'nomad.example.com, .internal.example.com'],
  ['WAYBILL_HTTP_ALLOWED_HOSTS', '*'],
  ['WAYBILL_HTTP_ALLOWED_ORIGINS', 'https://ui.example.com,http://localhost:8080'],
  ['WAYBILL_METRICS_STATSD_ADDRESS', 'localhost:8125'],
  ['WAYBILL_HTTP_RESPONSE_HEADERS', 'X-Frame-Options=DENY'],
  ['WAYBILL_RESERVED_PORTS', '22,8000-8100'],
  ['WAYBILL_RAW_EXEC_DENIED_UIDS', '0,1000-4294967294'],
])('%s=%s is taken', (name, value) => {
  expect(() => read({ [name]: value })).not.toThrow();
});

it('OP-10: the scheduler configuration of a new cluster has all members, with defaults where none is given', () => {
  const unset = read({}).WAYBILL_DEFAULT_SCHEDULER_CONFIG;
  expect(unset).toEqual(defaultSchedulerConfiguration());
  const given = {
    PauseEvalBroker: true,
    SchedulerAlgorithm: 'spread',
    PreemptionConfig: { BatchSchedulerEnabled: true },
  };
  expect(read({ WAYBILL_DEFAULT_SCHEDULER_CONFIG: JSON.stringify(given) }).WAYBILL_DEFAULT_SCHEDULER_CONFIG).toEqual({
    ...unset,
    ...given,
    PreemptionConfig: { ...unset.PreemptionConfig, BatchSchedulerEnabled: true },
  });
});

describe('what a scheduler works on', () => {
  it('EB-228: everything, unless it is told otherwise; or nothing', () => {
    const types = (text: string) => read({ WAYBILL_ENABLED_SCHEDULERS: text }).WAYBILL_ENABLED_SCHEDULERS;
    expect(read({}).WAYBILL_ENABLED_SCHEDULERS).toEqual(['service', 'batch', 'system', 'sysbatch', '_core']);
    expect(types('batch,_core')).toEqual(['batch', '_core']);
    expect(types(',')).toEqual([]);
    expect(read({ WAYBILL_SCHEDULER_WORKERS: '0' }).WAYBILL_SCHEDULER_WORKERS).toBe(0);
  });

  it.each([
    ['batch', 'invalid configuration: "_core" scheduler not enabled'],
    ['_core,nightly', 'invalid configuration: unknown scheduler "nightly" in enabled schedulers'],
  ])('EB-228: it does not start with %s', (text, message) => {
    expect(refusal({ WAYBILL_ENABLED_SCHEDULERS: text })).toContain(message);
  });
});

describe('thresholds and intervals of collection', () => {
  it('GC-128: unset, they are what the contract says', () => {
    expect(read({})).toMatchObject({
      WAYBILL_EVAL_GC_THRESHOLD: NS_PER_HOUR,
      WAYBILL_BATCH_EVAL_GC_THRESHOLD: 24 * NS_PER_HOUR,
      WAYBILL_JOB_GC_INTERVAL: 5 * NS_PER_MINUTE,
      WAYBILL_JOB_GC_THRESHOLD: 4 * NS_PER_HOUR,
      WAYBILL_DEPLOYMENT_GC_THRESHOLD: NS_PER_HOUR,
      WAYBILL_NODE_GC_THRESHOLD: 24 * NS_PER_HOUR,
      WAYBILL_CSI_VOLUME_CLAIM_GC_INTERVAL: 5 * NS_PER_MINUTE,
      WAYBILL_CSI_VOLUME_CLAIM_GC_THRESHOLD: 5 * NS_PER_MINUTE,
      WAYBILL_CSI_PLUGIN_GC_THRESHOLD: NS_PER_HOUR,
      WAYBILL_ACL_TOKEN_GC_THRESHOLD: NS_PER_HOUR,
      WAYBILL_ROOT_KEY_GC_INTERVAL: 10 * NS_PER_MINUTE,
      WAYBILL_ROOT_KEY_GC_THRESHOLD: NS_PER_HOUR,
      WAYBILL_ROOT_KEY_ROTATION_THRESHOLD: 720 * NS_PER_HOUR,
    });
  });

  it('GC-127 GC-129: a threshold is a duration, without upper limit, and may be 0', () => {
    for (const [text, ns] of [
      ['90m', 90 * NS_PER_MINUTE],
      ['1h30m', 90 * NS_PER_MINUTE],
      ['87600h', 87_600 * NS_PER_HOUR],
      ['0', 0],
      ['0s', 0],
    ] as const)
      expect(read({ WAYBILL_JOB_GC_THRESHOLD: text }).WAYBILL_JOB_GC_THRESHOLD).toBe(ns);
    for (const text of ['4', 'soon', '-1h', '4 h'])
      expect(refusal({ WAYBILL_JOB_GC_THRESHOLD: text })).toContain(`WAYBILL_JOB_GC_THRESHOLD="${text}" is not usable`);
  });

  it('GC-127: an interval must be above 0', () => {
    expect(read({ WAYBILL_JOB_GC_INTERVAL: '30s' }).WAYBILL_JOB_GC_INTERVAL).toBe(30e9);
    for (const text of ['0', '0s', '-5m']) {
      expect(refusal({ WAYBILL_JOB_GC_INTERVAL: text })).toContain('job_gc_interval should be greater than 0s');
      const claims = refusal({ WAYBILL_CSI_VOLUME_CLAIM_GC_INTERVAL: text });
      expect(claims).toContain('csi_volume_claim_gc_interval should be greater than 0s');
    }
    const rotation = refusal({ WAYBILL_ROOT_KEY_ROTATION_THRESHOLD: '0' });
    expect(rotation).toContain('root_key_rotation_threshold should be greater than 0s');
    expect(refusal({ WAYBILL_JOB_GC_INTERVAL: 'often' })).toContain('failed to parse job_gc_interval: ');
  });
});

describe('the audit log', () => {
  it('AU-271: enabled alone, it is an enforced file that its owner alone may read', () => {
    expect(read({ WAYBILL_AUDIT_ENABLED: 'true' })).toMatchObject({
      WAYBILL_AUDIT_SINKS: ['file'],
      WAYBILL_AUDIT_DELIVERY: 'enforced',
      WAYBILL_AUDIT_FILE: '.waybill/audit/audit.log',
      WAYBILL_AUDIT_FILE_MODE: 0o600,
      WAYBILL_AUDIT_SYNC: false,
    });
    expect(read({}).WAYBILL_AUDIT_ENABLED).toBe(false);
  });

  it.each([
    ['WAYBILL_AUDIT_SINKS', 'file,syslog', '"syslog" is none'],
    ['WAYBILL_AUDIT_DELIVERY', 'best', 'enforced or best-effort'],
    ['WAYBILL_AUDIT_FILE_MODE', '0999', 'such as 0600'],
    ['WAYBILL_AUDIT_FILTERS', 'health', 'the text'],
    [
      'WAYBILL_AUDIT_FILTERS',
      '[{"name":"a","endpoints":["*"],"stages":["Received"],"operations":["*"]}]',
      '0.stages.0',
    ],
    ['WAYBILL_AUDIT_FILTERS', '[{"name":"a","endpoint":["*"],"stages":["*"],"operations":["*"]}]', '0.endpoints'],
  ])('AU-271: %s=%s is refused by name', (name, value, said) => {
    expect(refusal({ [name]: value })).toMatch(new RegExp(`^${name}=`));
    expect(refusal({ [name]: value })).toContain(said);
  });
});

describe('which metrics are shown', () => {
  it('OP-105: rules say by their first character what they mean; without it nothing starts', () => {
    const rules = '+nomad.client.host,-nomad.client';
    expect(read({ WAYBILL_METRICS_PREFIX_FILTER: rules }).WAYBILL_METRICS_PREFIX_FILTER).toEqual([
      { prefix: 'nomad.client.host', admits: true },
      { prefix: 'nomad.client', admits: false },
    ]);
    for (const rule of ['nomad.client', '-'])
      expect(refusal({ WAYBILL_METRICS_PREFIX_FILTER: `+a,${rule}` })).toContain(
        `Filter rule must begin with either '+' or '-': "${rule}"`,
      );
  });

  it('OP-105, OP-101: unset, as the contract says; tasks are not shown one by one', () => {
    expect(read({})).toMatchObject({
      WAYBILL_PUBLISH_ALLOCATION_METRICS: false,
      WAYBILL_METRICS_COLLECTION_INTERVAL: 1e9,
      WAYBILL_METRICS_IN_MEMORY_INTERVAL: 10e9,
      WAYBILL_METRICS_DISABLE_HOSTNAME: false,
      WAYBILL_METRICS_FILTER_DEFAULT: true,
    });
  });
});

describe('host networks of a machine', () => {
  const given = (blocks: object) => ({ WAYBILL_HOST_NETWORKS: JSON.stringify(blocks) });

  it('NW-73, NW-123: are JSON by name, in the form that a node shows', () => {
    expect(read({}).WAYBILL_HOST_NETWORKS).toEqual({});
    const blocks = {
      public: { cidr: '203.0.113.0/24, 2001:db8::/32', reserved_ports: '22,80-90' },
      in: { interface: 'eth1' },
    };
    expect(read(given(blocks)).WAYBILL_HOST_NETWORKS).toEqual({
      public: { Name: 'public', CIDR: '203.0.113.0/24, 2001:db8::/32', Interface: '', ReservedPorts: '22,80-90' },
      in: { Name: 'in', CIDR: '', Interface: 'eth1', ReservedPorts: '' },
    });
  });

  it.each([
    [{ a: { cidr: '203.0.113.0' } }, 'host_network["a"].cidr "203.0.113.0" invalid: "203.0.113.0" is no address with'],
    [{ a: { cidr: '203.0.113.0/33' } }, 'host_network["a"].cidr "203.0.113.0/33" invalid'],
    [{ a: { cidr: '10.0.0.0/8,' } }, 'host_network["a"].cidr "10.0.0.0/8," invalid: "" is no address'],
    [{ a: { cidr: '2001:db8::/129' } }, 'host_network["a"].cidr "2001:db8::/129" invalid'],
    [{ a: { reserved_ports: '80-' } }, 'host_network["a"].reserved_ports "80-" invalid: ports and ranges'],
    [{ a: { reserved_ports: '65536' } }, 'host_network["a"].reserved_ports "65536" invalid: ports and ranges'],
    [{ 'a b': {} }, '"a b": up to 64 letters, digits, "-" and "_"'],
    [{ a: { cdir: '' } }, 'cdir'],
    [Object.fromEntries(Array.from({ length: 65 }, (_, at) => [`n${at}`, {}])), 'at most 64 host networks'],
  ])('NW-8, NW-73: are refused: %j', (blocks, why) => expect(refusal(given(blocks))).toContain(why));
});
