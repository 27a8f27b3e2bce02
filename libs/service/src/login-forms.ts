import { type ClusterIdentities, parseDuration, SHORTEST_RENEWED_TTL_NS } from '@waybill/model';
import { z } from 'zod';
import { keyValues } from './setting-forms.js';

/** The form of a cluster's name. It is part of names of identities and of attributes of machines. */
const CLUSTER_NAME = /^[A-Za-z0-9_-]{1,64}$/;
const CLUSTER_NAME_FORM = 'up to 64 letters, digits, "-" and "_"';

const DEFAULT_IDENTITY_TTL = '1h';

const identityTtl = z
  .string()
  .default(DEFAULT_IDENTITY_TTL)
  .transform((text, ctx) => {
    const ns = parseDuration(text);
    if (ns !== undefined && ns >= SHORTEST_RENEWED_TTL_NS) return ns;
    ctx.addIssue({ code: 'custom', message: 'ttl: a duration of at least 20s, such as "1h"' });
    return z.NEVER;
  });

/** The default identity of a cluster; null without an audience. */
const clusterIdentity = z
  .strictObject({
    aud: z.array(z.string().min(1)).max(16).optional(),
    ttl: identityTtl,
    extra_claims: z.array(z.string().min(1)).max(64).optional(),
  })
  .transform(({ aud = [], ttl, extra_claims = [] }) =>
    aud.length === 0 ? null : { Audience: aud, TTL: ttl, ExtraClaims: extra_claims.length === 0 ? null : extra_claims },
  );

function checkNames(clusters: Readonly<Record<string, unknown>>, ctx: z.RefinementCtx): void {
  for (const name of Object.keys(clusters))
    if (!CLUSTER_NAME.test(name))
      ctx.addIssue({ code: 'custom', message: `"${name}": a cluster has ${CLUSTER_NAME_FORM}` });
}

const clusterIdentities = z.record(z.string(), clusterIdentity).superRefine(checkNames);

/** JSON, or the short form `cluster=audience,…` as JSON. Empty text is no cluster. */
const clusterText = z.string().transform((text, ctx): unknown => {
  if (text.trim() === '') return {};
  if (!text.trimStart().startsWith('{')) {
    const pairs = keyValues.safeParse(text);
    if (pairs.success)
      return Object.fromEntries(Object.entries(pairs.data).map(([name, aud]) => [name, { aud: [aud] }]));
  } else
    try {
      return JSON.parse(text);
    } catch {
      // The message below names both forms.
    }
  ctx.addIssue({
    code: 'custom',
    message:
      'cluster=audience with commas between, such as default=vault.io, or JSON such as {"default":{"aud":["vault.io"],"ttl":"1h"}}',
  });
  return z.NEVER;
});

/** Clusters of Vault or Consul with the default identities of tasks (API-351). */
export const loginClusters = clusterText.pipe(clusterIdentities).transform((clusters): ClusterIdentities => clusters);

const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/** The address of Vault or Consul. Tokens cross the network, so plain HTTP is for this machine. */
const serverAddress = z
  .string()
  .refine(
    isSafeUrl,
    'a URL such as https://vault.example:8200; http:// is for this machine only, because tokens cross the network',
  );

function isSafeUrl(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && LOOPBACK.has(url.hostname));
  return url !== undefined && isSafe && url.username === '' && url.search === '' && url.hash === '';
}

/** A path of Vault or a name of Consul's, which becomes part of a URL or of a header. */
const name = z.string().regex(/^[\w./-]{0,256}$/, 'letters, digits, "_", ".", "/" and "-" only');

const commonServer = {
  address: serverAddress,
  namespace: name.default(''),
  ca_file: z.string().default(''),
  cert_file: z.string().default(''),
  key_file: z.string().default(''),
  tls_server_name: z.string().default(''),
} as const;

const vaultServer = z.strictObject({
  ...commonServer,
  auth_path: name.default('jwt-nomad'),
  role: name.default(''),
});

const consulServer = z.strictObject({
  ...commonServer,
  auth_method: name.default('nomad-workloads'),
  partition: name.default(''),
  token_file: z.string().default(''),
});

/** A Vault in which the tasks of a machine log in (AU-164). Empty texts are unset. */
export type VaultServer = z.infer<typeof vaultServer>;
/** A Consul in which the tasks of a machine log in (AU-164). Empty texts are unset. */
export type ConsulServer = z.infer<typeof consulServer>;

/** Servers by the name of their cluster, as JSON, or the URL of the default cluster. Empty text is none. */
function servers<S extends z.ZodType>(server: S, example: string) {
  const text = z.string().transform((given, ctx): unknown => {
    if (given.trim() === '') return {};
    if (!given.trimStart().startsWith('{')) return { default: { address: given } };
    try {
      return JSON.parse(given);
    } catch {
      ctx.addIssue({
        code: 'custom',
        message: `a URL such as ${example}, or JSON such as {"default":{"address":"${example}"}}`,
      });
      return z.NEVER;
    }
  });
  return text.pipe(z.record(z.string(), server).superRefine(checkNames));
}

export const vaultServers = servers(vaultServer, 'https://vault.example:8200');
export const consulServers = servers(consulServer, 'http://127.0.0.1:8500');
