// Prints the Secrets and the ConfigMap that the production manifests and the chart need, with new keys (docs/kubernetes.md).
import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { newIssuerKey, newUserKey } from '@waybill/journal';
import { KEYED_SERVICES, keyedServiceUser } from '@waybill/service';
import { stringify } from 'yaml';
import { accountsText } from './nats-accounts.mjs';

const USAGE = `usage: node scripts/kubernetes-secrets.mjs [--namespace waybill] [--database URL] > secrets.yaml
       kubectl create -f secrets.yaml

Every run makes new keys. "kubectl create" leaves Secrets alone that are there, and "kubectl apply" would replace their keys.
Keep the file as you keep backups: the keys of access control and of variables are in no backup of Waybill.
`;

/** @param {string} namespace @param {string} name @param {Record<string, string>} stringData */
const secret = (namespace, name, stringData) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, namespace },
  type: 'Opaque',
  stringData,
});

/**
 * The objects, with new keys.
 *
 * @param {string} namespace of the control plane
 * @param {string | undefined} database its address; if it is undefined, there is no Secret for it
 * @returns {any[]}
 */
export function secretsOf(namespace, database) {
  const issuer = newIssuerKey();
  const services = KEYED_SERVICES.map((service) => ({ service, ...newUserKey() }));
  const users = services.map(({ service, publicKey }) => keyedServiceUser(service, publicKey));
  const accounts = accountsText([...users, { issuer: issuer.publicKey }]);
  return [
    ...(database === undefined ? [] : [secret(namespace, 'waybill-database', { WAYBILL_DATABASE_URL: database })]),
    secret(namespace, 'waybill-acl', { 'acl.key': randomBytes(32).toString('hex') }),
    secret(namespace, 'waybill-keyring', { 'keyring.key': randomBytes(32).toString('hex') }),
    ...services.map(({ service, seed }) => secret(namespace, `waybill-nats-${service}`, { 'nats.seed': `${seed}\n` })),
    secret(namespace, 'waybill-nats-issuer', { 'issuer.seed': `${issuer.seed}\n` }),
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'waybill-nats-access', namespace },
      data: { 'accounts.conf': accounts },
    },
  ];
}

/** @returns {{ namespace: string, database?: string | undefined } | undefined} undefined if the arguments are not usable */
function options() {
  try {
    return parseArgs({
      options: { namespace: { type: 'string', default: 'waybill' }, database: { type: 'string' } },
    }).values;
  } catch {
    return undefined;
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const given = options();
  if (given === undefined) {
    process.stderr.write(USAGE);
    process.exitCode = 64;
  } else
    for (const object of secretsOf(given.namespace, given.database))
      process.stdout.write(`---\n${stringify(object, { lineWidth: 0 })}`);
}
