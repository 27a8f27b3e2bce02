import { KNOWN_SCHEDULERS, MAX_WORKERS } from '@waybill/rpc';
import { z } from 'zod';
import { defaultSchedulerConfiguration } from '@waybill/model';
import { ADMISSION_SETTINGS } from './admission-settings.js';
import { AGENT_SETTINGS } from './agent-settings.js';
import { AUDIT_SETTINGS } from './audit-settings.js';
import { KEYRING_SETTINGS } from './keyring-settings.js';
import { loginClusters } from './login-forms.js';
import { METRICS_SETTINGS } from './metrics-settings.js';
import { TLS_SETTINGS, tlsContradictions } from './tls/tls-settings.js';
import {
  databaseUrl,
  duration,
  flag,
  headers,
  hostAndPort,
  hostGlobs,
  hostNames,
  hours,
  interval,
  natsUrls,
  origins,
  peers,
  port,
  positive,
  schedulerConfiguration,
  schedulers,
  word,
} from './setting-forms.js';

/** How machines are treated that register for the first time (AU-202). */
const INTRODUCTION_ENFORCEMENTS = ['none', 'warn', 'strict'] as const;

/** Every environment variable of every service, with its form and default. `--help` of a service shows the text. */
export const SETTINGS = {
  WAYBILL_NATS_URL: natsUrls.describe('NATS with JetStream, e.g. nats://127.0.0.1:4222; several with commas'),
  WAYBILL_NATS_CREDENTIALS: z
    .string()
    .default('')
    .describe("file with the seed of this process' user of NATS, or .creds; empty: NATS asks nobody who he is"),
  WAYBILL_DATABASE_URL: databaseUrl.optional().describe('PostgreSQL, e.g. postgres://user:secret@host/waybill'),
  WAYBILL_REGION: word.default('global').describe('name of this region'),
  WAYBILL_PEERS: peers
    .default({})
    .describe(
      'region=nats-url[#file],… of the other regions, with files of credentials; jobs may be rolled out to all',
    ),
  WAYBILL_LOG_LEVEL: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'silent'])
    .default('info')
    .describe('least level logged'),
  WAYBILL_LOG_FORMAT: z.enum(['json', 'line']).default('json').describe('json for machines, line for people'),
  WAYBILL_START_WAITS: flag
    .default(true)
    .describe('whether a service that starts waits for NATS and PostgreSQL that are not there yet, instead of ending'),
  WAYBILL_OPS_HOST: z.string().default('127.0.0.1').describe('address of /healthz, /readyz and /metrics'),
  WAYBILL_OPS_PORT: port.default(0).describe('port of /healthz, /readyz and /metrics; 0: any free one'),
  WAYBILL_STREAM_REPLICAS: z.coerce
    .number()
    .int()
    .refine((n) => [1, 3, 5].includes(n), '1, 3 or 5')
    .default(1)
    .describe('copies NATS keeps of each stream'),
  WAYBILL_LEASE_TTL_MS: z.coerce
    .number()
    .int()
    .min(1_000)
    .max(60_000)
    .default(3_000)
    .describe(
      'a silent holder loses its role after this long; ten round trips to NATS, or more where packets come late',
    ),
  WAYBILL_HTTP_HOST: z.string().default('127.0.0.1').describe('api: address of /v1'),
  WAYBILL_HTTP_ALLOW_UNPROTECTED: flag
    .default(false)
    .describe(
      'api: listen on other addresses than the loopback while access control is off; everybody who reaches them may do everything',
    ),
  WAYBILL_HTTP_PORT: port.default(4646).describe('api: port of /v1'),
  WAYBILL_HTTP_ADVERTISE: hostAndPort.describe(
    'api: host:port at which other regions reach /v1; empty: the address it listens on',
  ),
  WAYBILL_HTTP_ALLOWED_HOSTS: hostNames
    .default([])
    .describe(
      'names beside its own under which /v1 and the ops port answer; .example.com: all below it; *: every name, which lets any web page in',
    ),
  WAYBILL_HTTP_ALLOWED_ORIGINS: origins
    .default([])
    .describe('origins of web pages that may use /v1 beside those it hands out itself, e.g. https://ui.example.com'),
  WAYBILL_HTTP_MAX_CONNS_PER_CLIENT: z.coerce
    .number()
    .int()
    .min(0)
    .default(100)
    .describe('api: connections from one address at a time; 0: any number'),
  WAYBILL_HTTP_MAX_REQUESTS_PER_SECOND: z.coerce
    .number()
    .min(0)
    .default(0)
    .describe('api: requests from one address per second, ten seconds of them at once; 0: any number'),
  WAYBILL_HTTP_AGENT_DIR: z
    .string()
    .default('')
    .describe('api: directory of an agent beside it, which is then what clients mean by the node of this server'),
  WAYBILL_ACL_ENABLED: flag
    .default(false)
    .describe(
      'api, broker, deployments, nodes, scheduler, volumes: access control; a caller without a token may do little',
    ),
  WAYBILL_ACL_KEY_FILE: z
    .string()
    .default('')
    .describe(
      'api: file with the key under which secrets of tokens are stored: 32 bytes in hexadecimal or base64, the same for every api',
    ),
  WAYBILL_ACL_OTHER_KEY_FILE: z
    .string()
    .default('')
    .describe(
      'api: file with a second key, under which secrets of tokens are found too, while the key changes; empty: none',
    ),
  WAYBILL_ACL_DIR: z
    .string()
    .default('')
    .describe('api: directory in which acl-bootstrap-reset is looked for; empty: that of the key file'),
  WAYBILL_ACL_FAILED_LOGINS_PER_MINUTE: z.coerce
    .number()
    .int()
    .min(0)
    .max(10_000)
    .default(10)
    .describe('api: logins, bootstraps and one-time exchanges of one address that may fail per minute; 0: any number'),
  WAYBILL_ACL_LOGIN_ALLOWED_HOSTS: hostGlobs
    .default([])
    .describe(
      'api: hosts of identity providers that auth methods may name and logins call, as id.example.com,*.corp.example; empty: any',
    ),
  WAYBILL_ACL_LOGIN_SINGLE_USE: flag
    .default(false)
    .describe('api: a JWT with a jti claim logs in once; the same for every api'),
  WAYBILL_ACL_TOKEN_MIN_EXPIRATION_TTL: duration('1m').describe('api: least life of a token that expires'),
  WAYBILL_ACL_TOKEN_MAX_EXPIRATION_TTL: duration('24h').describe('api: greatest life of a token that expires'),
  WAYBILL_VAULT: loginClusters
    .default({})
    .describe(
      'api: clusters of Vault that jobs may use, as default=vault.io (name=audience,…) or JSON such as {"default":{"aud":["vault.io"],"ttl":"1h"}}; empty: none',
    ),
  WAYBILL_CONSUL: loginClusters.default({}).describe('api: the same for Consul, such as default=consul.io'),
  WAYBILL_CLIENT_INTRODUCTION_ENFORCEMENT: z
    .enum(INTRODUCTION_ENFORCEMENTS, {
      error: ({ input }) =>
        `invalid server.client_introduction configuration: invalid enforcement ${JSON.stringify(input)}`,
    })
    .default('warn')
    .describe(
      'nodes: machines that register for the first time: none: all may; warn: a wrong introduction token is refused, a missing one reported; strict: each needs one',
    ),
  WAYBILL_CLIENT_INTRODUCTION_DEFAULT_TTL: interval('5m', 'default_identity_ttl').describe(
    'api: life of an introduction token whose maker names none',
  ),
  WAYBILL_CLIENT_INTRODUCTION_MAX_TTL: interval('30m', 'max_identity_ttl').describe(
    'api: longest life of an introduction token',
  ),
  WAYBILL_HTTP_RESPONSE_HEADERS: headers.default({}).describe('api: name=value,… of headers on every answer'),
  WAYBILL_LOG_RETENTION_HOURS: z.coerce
    .number()
    .min(0)
    .default(720)
    .describe('projector: how long transactions, and the archives that they restored, stay in the log; 0: for ever'),
  WAYBILL_LOG_RETENTION_INDEXES: z.coerce
    .number()
    .int()
    .min(1)
    .default(100_000)
    .describe('projector: transactions behind what Postgres holds that stay in the log in any case'),
  WAYBILL_LOG_SCRUB_RATE: z.coerce
    .number()
    .min(0)
    .default(1)
    .describe(
      'projector: MB per second at which the log is read again to find what its disk has changed; 0: it is not',
    ),
  WAYBILL_LOG_SCRUB_INTERVAL: interval('1h', 'log_scrub_interval').describe(
    'projector: from the end of one such reading of the whole log to the begin of the next',
  ),
  WAYBILL_HISTORY_RETENTION_HOURS: hours
    .default(2_160)
    .describe('projector: how long the history in Postgres is kept, if not longer for events or log'),
  WAYBILL_ARCHIVE_DIR: z
    .string()
    .default('')
    .describe('projector: directory for archives of the whole state, on a disk that outlives the process; empty: none'),
  WAYBILL_ARCHIVE_INTERVAL: interval('24h', 'archive_interval').describe('projector: how often one is put there'),
  WAYBILL_ARCHIVE_KEEP: positive.default(7).describe('projector: how many of them are kept'),
  WAYBILL_EVENT_RETENTION_HOURS: hours.min(1).default(168).describe('projector: how long events stay readable'),
  WAYBILL_EVENT_RETENTION_INDEXES: positive
    .default(1_000_000)
    .describe('projector: how many messages of events stay readable'),
  WAYBILL_EVENT_BROKER: flag.default(true).describe('api: serve /v1/event/stream'),
  WAYBILL_EVENT_REPLAY: positive
    .max(1_000_000)
    .default(100)
    .describe('api: indexes with events that an event stream from index 0 begins with'),
  WAYBILL_SCHEDULER_WORKERS: z.coerce
    .number()
    .int()
    .min(0)
    .max(MAX_WORKERS)
    .default(2)
    .describe('scheduler: evaluations worked on at once; 0: none, dry runs only'),
  WAYBILL_ENABLED_SCHEDULERS: schedulers
    .default([...KNOWN_SCHEDULERS])
    .describe(
      'scheduler: types of evaluations that are worked on, with commas between; _core, housekeeping, is a must',
    ),
  WAYBILL_DEFAULT_SCHEDULER_CONFIG: schedulerConfiguration
    .default(defaultSchedulerConfiguration)
    .describe('broker: scheduler configuration of a new cluster, as JSON; ignored once the cluster has one'),
  WAYBILL_DEPLOY_QUERY_RATE_LIMIT: z.coerce
    .number()
    .min(0, 'deploy_query_rate_limit must be greater than 0')
    .default(100)
    .describe('deployments: reads per second of all watchers together; 0: the default'),
  WAYBILL_PLAN_APPLY_PIPELINE: positive
    .max(64)
    .default(1)
    .describe('broker: accepted plans that may be on their way to the log while the next one is judged'),
  WAYBILL_PLAN_REJECTION_TRACKER: flag
    .default(false)
    .describe('broker: mark nodes ineligible on which plans are rejected again and again'),
  WAYBILL_PLAN_REJECTION_NODE_THRESHOLD: positive.default(100).describe('broker: rejections that make a node bad'),
  WAYBILL_PLAN_REJECTION_NODE_WINDOW_MS: z.coerce
    .number()
    .int()
    .refine((ms) => ms > 0, 'plan_rejection_tracker.node_window must be greater than 0')
    .default(300_000)
    .describe('broker: time within which they count'),
  WAYBILL_EVAL_GC_THRESHOLD: duration('1h').describe(
    'scheduler: how long evaluations that are over stay, and their allocations',
  ),
  WAYBILL_BATCH_EVAL_GC_THRESHOLD: duration('24h').describe('scheduler: the same for batch jobs'),
  WAYBILL_JOB_GC_INTERVAL: interval('5m', 'job_gc_interval').describe(
    'broker: how often jobs that are over are looked for',
  ),
  WAYBILL_JOB_GC_THRESHOLD: duration('4h').describe('scheduler: how long jobs that are over stay'),
  WAYBILL_DEPLOYMENT_GC_THRESHOLD: duration('1h').describe('scheduler: how long deployments that are over stay'),
  WAYBILL_NODE_GC_THRESHOLD: duration('24h').describe('scheduler: how long nodes that are down stay'),
  WAYBILL_CSI_VOLUME_CLAIM_GC_INTERVAL: interval('5m', 'csi_volume_claim_gc_interval').describe(
    'broker: how often claims that nobody holds any more are looked for',
  ),
  WAYBILL_CSI_VOLUME_CLAIM_GC_THRESHOLD: duration('5m').describe(
    'scheduler: how long a volume is left alone after a change before its claims are looked at',
  ),
  WAYBILL_CSI_PLUGIN_GC_THRESHOLD: duration('1h').describe('scheduler: how long plugins that nobody runs stay'),
  WAYBILL_ACL_TOKEN_GC_THRESHOLD: duration('1h').describe(
    'scheduler: how old an expired token must be to be collected',
  ),
  WAYBILL_ROOT_KEY_GC_INTERVAL: interval('10m', 'root_key_gc_interval').describe(
    'broker: how often the root keys are checked: whether the next one is due, and old ones may go',
  ),
  WAYBILL_ROOT_KEY_GC_THRESHOLD: duration('1h').describe(
    'broker, scheduler: how long an inactive root key that nothing uses stays after the time of its rotation',
  ),
  WAYBILL_ROOT_KEY_ROTATION_THRESHOLD: interval('720h', 'root_key_rotation_threshold').describe(
    'api, broker, scheduler: age at which the next root key becomes active, the same for all; it is made and published at half of that age',
  ),
  ...KEYRING_SETTINGS,
  ...AUDIT_SETTINGS,
  ...TLS_SETTINGS,
  ...ADMISSION_SETTINGS,
  ...AGENT_SETTINGS,
  ...METRICS_SETTINGS,
} as const;

const schema = z.object(SETTINGS);
export type Settings = z.output<typeof schema>;
export type SettingName = keyof typeof SETTINGS;

/** The environment lacks a variable or contains an invalid one. One line per problem. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
  constructor(readonly problems: readonly string[]) {
    super(problems.join('\n'));
  }
}

/** Names of variables in which Kubernetes puts addresses of services. They are not settings. */
const SERVICE_LINK = /^WAYBILL_[A-Z0-9_]*_(SERVICE_HOST|SERVICE_PORT.*|PORT|PORT_\d+_TCP.*)$/;

/** Variables for other readers than services: the launcher, the image. */
const NOT_OURS = new Set(['WAYBILL_SERVICE', 'WAYBILL_ADDR', 'WAYBILL_BENCH', 'WAYBILL_TEST']);

/**
 * Reads the settings from an environment.
 * @param required variables without a default that this service requires
 * @throws SettingsError with every missing, unknown or invalid variable
 */
export function readSettings(env: NodeJS.ProcessEnv, required: readonly SettingName[]): Settings {
  const problems: string[] = [];
  const given: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (!name.startsWith('WAYBILL_') || value === undefined || value === '') continue;
    if (name in SETTINGS) given[name] = value;
    else if (!NOT_OURS.has(name) && !SERVICE_LINK.test(name)) problems.push(unknownName(name));
  }
  for (const name of required)
    if (given[name] === undefined) problems.push(`${name} is not set: ${SETTINGS[name].description ?? ''}`);
  const parsed = schema.safeParse({ WAYBILL_NATS_URL: 'nats://unset', ...given });
  if (!parsed.success)
    for (const issue of parsed.error.issues) {
      const name = String(issue.path[0]) as SettingName;
      const found = `${name}=${JSON.stringify(given[name] ?? '')} is not usable: ${issue.message}`;
      problems.push(`${withoutPasswords(found)} (${SETTINGS[name].description ?? ''})`);
    }
  else for (const item of contradictions(parsed.data)) problems.push(item);
  if (problems.length > 0 || !parsed.success) throw new SettingsError(problems);
  return parsed.data;
}

/** Returns the contradictions between settings that are valid on their own. */
function contradictions(settings: Settings): string[] {
  const { WAYBILL_MIN_DYNAMIC_PORT: first, WAYBILL_MAX_DYNAMIC_PORT: last } = settings;
  const others = [...tlsContradictions(settings), ...introductionContradictions(settings)];
  if (first <= last) return others;
  const ports = `WAYBILL_MIN_DYNAMIC_PORT=${first} is above WAYBILL_MAX_DYNAMIC_PORT=${last}: no task could be given a port`;
  return [ports, ...others];
}

function introductionContradictions({
  WAYBILL_CLIENT_INTRODUCTION_DEFAULT_TTL: defaultTtl,
  WAYBILL_CLIENT_INTRODUCTION_MAX_TTL: maxTtl,
}: Settings): string[] {
  if (defaultTtl <= maxTtl) return [];
  return [
    'invalid server.client_introduction configuration: max_identity_ttl must be greater than or equal to default_identity_ttl (WAYBILL_CLIENT_INTRODUCTION_MAX_TTL, WAYBILL_CLIENT_INTRODUCTION_DEFAULT_TTL)',
  ];
}

function unknownName(name: string): string {
  const near = Object.keys(SETTINGS).find(
    (known) => known.startsWith(name) || name.startsWith(known) || differsByOne(known, name),
  );
  return `${name} is no setting of Waybill${near ? `; did you mean ${near}?` : ''}`;
}

function differsByOne(a: string, b: string): boolean {
  if (Math.abs(a.length - b.length) > 1) return false;
  let i = 0;
  while (i < a.length && a[i] === b[i]) i++;
  const rest = (text: string, from: number) => text.slice(from);
  return rest(a, i + 1) === rest(b, i + 1) || rest(a, i) === rest(b, i + 1) || rest(a, i + 1) === rest(b, i);
}

/**
 * Removes passwords, because addresses of NATS, regions and PostgreSQL may contain them before the host or in the
 * query.
 */
export function withoutPasswords(text: string): string {
  return text.replaceAll(/(:\/\/)[^\s,"]*@/g, '$1…@').replaceAll(/(password=)[^\s,"&]*/gi, '$1…');
}

/** Returns the table of settings for help texts. */
export function describeSettings(): string {
  return Object.entries(SETTINGS)
    .map(([name, form]) => `  ${name.padEnd(40)}${form.description ?? ''}`)
    .join('\n');
}
