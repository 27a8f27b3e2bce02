// `npm run chart`: writes the generated files of charts/waybill from k8s/, with kustomize. `npm run check` compares them.
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { Block, Choice, Expression, templateLines, weave, When, within } from './helm-template.mjs';
import { render } from './kustomize.mjs';
import { filesBelow, root, textOf } from './source-tree.mjs';

const CHART = 'charts/waybill';
const NOTE = '# Written by `npm run chart` from k8s/: change it there.\n';

/** Components that change objects of the base, and the value that asks for each. They are woven in this order. */
const CHANGES = [
  ['nats-credentials', '.Values.natsCredentials.enabled'],
  ['machine-admission', '.Values.natsCredentials.enabled'],
  ['access-control', '.Values.accessControl.enabled'],
  ['keyring', '.Values.keyring.enabled'],
  ['tls', '.Values.tls.enabled'],
  ['host-network', '.Values.agents.hostNetwork'],
];
const CHANGES_OF_AGENTS = [
  ['nats-credentials', '.Values.natsCredentials.enabled'],
  ['machine-admission-agents', '.Values.natsCredentials.enabled'],
  ['tls-agents', '.Values.tls.enabled'],
  ['host-network-agents', '.Values.agents.hostNetwork'],
];
/** Components that only add objects. */
const ADDITIONS = ['machine-admission', 'postgres', 'tls-cert-manager', 'monitoring'];
const ADDITIONS_OF_AGENTS = ['monitoring-agents'];
/** The value that asks for an object that a component adds, by its kind and name. */
const ADDED = /** @type {const} */ ([
  [/ waybill-token-reviews/, '.Values.natsCredentials.enabled'],
  [/ waybill-postgres$/, '.Values.postgres.enabled'],
  [/^(Certificate|Issuer) /, 'and .Values.tls.enabled .Values.tls.certManager'],
  [/^(PodMonitor|PrometheusRule) | waybill-dashboard$/, '.Values.monitoring.enabled'],
]);
const ONE_NATS = 'eq (int .Values.nats.replicas) 1';
const NAMESPACE = '.Release.Namespace';
const AGENTS_NAMESPACE = 'include "waybill.agentsNamespace" .';
/** Namespaces of the manifests that the chart is made of. */
const [CONTROL_PLANE, AGENTS] = ['waybill', 'waybill-agents'];

/**
 * @typedef {any} Manifest
 * @typedef {{ condition: string, object: Manifest }} Guarded an object that is there under a condition; '': always
 */

/** @param {string} namespace @param {string} base @param {string[]} [components] @returns {Manifest[]} */
function rendered(namespace, base, components = []) {
  const folder = mkdtempSync(path.join(realpathSync(tmpdir()), 'waybill-chart-'));
  try {
    const at = (/** @type {string} */ below) => path.relative(folder, path.join(root, 'k8s', below));
    const kustomization = { namespace, resources: [at(base)], components: components.map(at) };
    writeFileSync(path.join(folder, 'kustomization.yaml'), JSON.stringify(kustomization));
    return withoutHashes(render(folder));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/**
 * Kustomize names a ConfigMap by its content. Helm's keeps its name; a checksum in the pods has them replaced.
 *
 * @param {Manifest[]} manifests
 * @returns {Manifest[]}
 */
export function withoutHashes(manifests) {
  const names = manifests
    .filter(({ kind }) => kind === 'ConfigMap' || kind === 'Secret')
    .map(({ metadata }) => metadata.name)
    .filter((name) => /-[a-z0-9]{10}$/.test(name));
  const bare = new Map(names.map((name) => [name, name.replace(/-[a-z0-9]{10}$/, '')]));
  return JSON.parse(JSON.stringify(manifests), (_, value) => bare.get(value) ?? value);
}

/** @param {Manifest} object */
const keyOf = ({ kind, metadata }) => `${kind} ${metadata.name}`;

/**
 * @param {string} namespace
 * @param {string} base
 * @param {readonly string[][]} changes
 * @param {readonly string[]} additions
 * @returns {Guarded[]}
 */
function woven(namespace, base, changes, additions) {
  const components = (/** @type {readonly string[]} */ names) => names.map((name) => `components/${name}`);
  const plain = rendered(namespace, base);
  const trees = new Map(plain.map((object) => [keyOf(object), object]));
  for (const [component = '', condition = ''] of changes) {
    const variants = rendered(namespace, base, components([component]));
    const byKey = new Map(variants.map((object) => [keyOf(object), object]));
    for (const object of plain) {
      const key = keyOf(object);
      trees.set(key, weave(trees.get(key), object, byKey.get(key), condition));
    }
  }
  const guard = namespace === AGENTS ? '.Values.agents.enabled' : '';
  const added = rendered(namespace, base, components(additions))
    .filter((object) => !trees.has(keyOf(object)))
    .map((object) => {
      const condition = ADDED.find(([name]) => name.test(keyOf(object)))?.[1];
      if (condition === undefined) throw new Error(`no value asks for ${keyOf(object)}`);
      return { object, condition: guard === '' ? condition : `and ${guard} ${condition}` };
    });
  return [...[...trees.values()].map((object) => ({ object, condition: guard })), ...added];
}

/** The manifests of everything, as trees. @param {Manifest[]} production @returns {Guarded[]} */
function trees(production) {
  const autoscalers = production
    .filter(({ kind }) => kind === 'HorizontalPodAutoscaler')
    .map((object) => ({ object, condition: '.Values.autoscaling.enabled' }));
  const access = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'waybill-nats-access', namespace: CONTROL_PLANE },
    data: { 'accounts.conf': textOf('k8s/overlays/dev/control-plane/accounts.conf') },
  };
  return [
    ...woven(CONTROL_PLANE, 'base', CHANGES, ADDITIONS),
    { object: access, condition: 'not .Values.natsCredentials.enabled' },
    { object: databaseSecret(), condition: 'and .Values.postgres.enabled .Values.postgres.password' },
    ...autoscalers,
    ...woven(AGENTS, 'agents', CHANGES_OF_AGENTS, ADDITIONS_OF_AGENTS),
  ];
}

/** As the overlay dev generates it, with the password of the values. */
function databaseSecret() {
  const password = '.Values.postgres.password';
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'waybill-database', namespace: CONTROL_PLANE },
    type: 'Opaque',
    data: {
      POSTGRES_PASSWORD: new Expression(`${password} | b64enc`),
      WAYBILL_DATABASE_URL: new Expression(
        `printf "postgres://waybill:%s@waybill-postgres:5432/waybill" ${password} | b64enc`,
      ),
    },
  };
}

/** Puts values into an object's tree, in place. @param {Guarded} guarded @returns {Guarded} */
function withValues({ object, condition }) {
  const { kind, metadata } = object;
  if (metadata.namespace !== undefined)
    metadata.namespace = new Expression(metadata.namespace === AGENTS ? AGENTS_NAMESPACE : NAMESPACE);
  for (const subject of object.subjects ?? []) subject.namespace = new Expression(NAMESPACE);
  const name = metadata.name.replace(/^waybill-/, '');
  if (kind === 'ConfigMap' && name === 'config') configOf(object, '.Values.config');
  if (kind === 'ConfigMap' && name === 'agent-config') configOf(object, '.Values.agents.config');
  if (kind === 'ConfigMap' && name === 'nats') {
    const single = textOf('k8s/overlays/dev/control-plane/nats.conf');
    object.data['nats.conf'] = new Choice(ONE_NATS, single, object.data['nats.conf']);
  }
  if (kind === 'Deployment') podsOf(object, { values: `.Values.services.${name}`, replicas: name });
  if (kind === 'StatefulSet') podsOf(object, { values: `.Values.${name}`, replicas: name });
  if (kind === 'DaemonSet') podsOf(object, { values: '.Values.agents', replicas: '' });
  return { object: located(object), condition };
}

/** @param {Manifest} object @param {string} values */
function configOf(object, values) {
  const data = object.data;
  if ('WAYBILL_STREAM_REPLICAS' in data) {
    data.WAYBILL_STREAM_REPLICAS = within('.Values.nats.replicas');
    data.WAYBILL_HTTP_ALLOW_UNPROTECTED = new When('not .Values.accessControl.enabled', 'true');
  }
  for (const key of Object.keys(data)) data[key] = new When(`not (hasKey ${values} "${key}")`, data[key]);
  // Settings of the values come last and stand in for those above.
  object.data = { ...data, [SETTINGS]: values };
}

/** Key that stands for the settings of the values in a ConfigMap. */
const SETTINGS = '\uE002';

/** @param {Manifest} object @param {{ values: string, replicas: string }} from */
function podsOf(object, { values, replicas }) {
  const { spec } = object;
  if (replicas === 'api' || replicas === 'scheduler')
    spec.replicas = new When('not .Values.autoscaling.enabled', new Expression(`${values}.replicas`));
  else if (replicas !== '' && replicas !== 'postgres') spec.replicas = new Expression(`${values}.replicas`);
  const { template } = spec;
  if (replicas !== 'postgres')
    template.metadata.annotations = {
      'checksum/config': new Expression('include (print $.Template.BasePath "/config.yaml") . | sha256sum'),
    };
  const pod = template.spec;
  pod.imagePullSecrets = new When('.Values.image.pullSecrets', new Block('toYaml .Values.image.pullSecrets'));
  const [main] = pod.containers;
  const ownImage = replicas === 'nats' || replicas === 'postgres' ? `"${replicas}"` : '"waybill"';
  main.resources = new Block(`toYaml ${values}.resources`);
  for (const container of [main, ...(pod.initContainers instanceof When ? pod.initContainers.node : [])]) {
    container.image = new Expression(`include "waybill.image" (list . ${ownImage}) | quote`);
    container.imagePullPolicy = new Expression('.Values.image.pullPolicy');
  }
  const storeLimit = storeLimitOf(spec);
  if (storeLimit) storeLimit.value = new Expression(`${values}.storage.maxFileStore`);
  for (const claim of spec.volumeClaimTemplates ?? []) {
    claim.spec.resources.requests.storage = new Expression(`${values}.storage.size`);
    claim.spec.storageClassName = new When(
      `${values}.storage.className`,
      new Expression(`${values}.storage.className`),
    );
  }
}

/** @param {any} spec @returns {{ value: unknown } | undefined} the variable with the most that NATS keeps on its volume */
const storeLimitOf = (spec) =>
  spec.template.spec.containers[0].env?.find(
    (/** @type {{ name: string }} */ { name }) => name === 'NATS_MAX_FILE_STORE',
  );

/** Names of namespaces in texts become those of the release. @param {any} node @returns {any} */
function located(node) {
  if (typeof node === 'string') {
    if (node === AGENTS) return new Expression(AGENTS_NAMESPACE);
    return node
      .replaceAll(/\bwaybill-(api|nats)\.waybill(?=[.:,]|$)/g, `waybill-$1.${within(NAMESPACE)}`)
      .replace(/^waybill-token-reviews\.waybill$/, `waybill-token-reviews.${within(NAMESPACE)}`)
      .replace(/^waybill-agents(?=\/)/, within(AGENTS_NAMESPACE.replaceAll('"', '`')))
      .replaceAll(',waybill-api.waybill-dev,', ',');
  }
  if (Array.isArray(node)) return node.map(located);
  if (node instanceof When) return new When(node.condition, located(node.node));
  if (node instanceof Choice) return new Choice(node.condition, located(node.met), located(node.otherwise));
  if (node === null || typeof node !== 'object' || node instanceof Expression || node instanceof Block) return node;
  return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, located(value)]));
}

/** @param {Guarded} guarded @returns {string} the file of an object in the chart */
function fileOf({ object: { kind, metadata } }) {
  if (kind === 'ConfigMap' && metadata.name !== 'waybill-dashboard') return 'config';
  if (kind === 'NetworkPolicy') return 'network-policies';
  if (kind === 'HorizontalPodAutoscaler') return 'autoscalers';
  if (kind === 'Certificate' || kind === 'Issuer') return 'certificates';
  if (/^Pod(Monitor)$|^PrometheusRule$/.test(kind) || metadata.name === 'waybill-dashboard') return 'monitoring';
  return /^waybill-(nats|postgres|agent)/.exec(metadata.name)?.[1] ?? (kind === 'Secret' ? 'postgres' : 'services');
}

/** @param {Guarded} guarded @returns {string} */
function templateOf({ object, condition }) {
  const lines = templateLines(object).map((line) => {
    const [, values] = /^ {2}"\uE002": "(.*)"$/.exec(line) ?? [];
    return values === undefined ? line : `{{- with ${values} }}\n{{- toYaml . | nindent 2 }}\n{{- end }}`;
  });
  const text = ['---', ...lines].join('\n');
  return condition === '' ? `${text}\n` : `{{- if ${condition} }}\n${text}\n{{- end }}\n`;
}

/**
 * The values that the manifests are rendered with, and what each is for.
 *
 * @param {Guarded[]} all
 * @param {Manifest[]} production
 */
function valuesText(all, production) {
  const find = (/** @type {string} */ kind, /** @type {string} */ name) =>
    all.find(({ object }) => object.kind === kind && object.metadata.name === `waybill-${name}`)?.object.spec;
  const log = production.find(({ kind }) => kind === 'StatefulSet').spec;
  const resources = (/** @type {any} */ spec) => spec.template.spec.containers[0].resources;
  const image = (/** @type {any} */ spec) => {
    const [repository, tag] = spec.template.spec.containers[0].image.split(':');
    return { repository, tag };
  };
  const services = all
    .filter(({ object }) => object.kind === 'Deployment')
    .map(({ object }) => [
      object.metadata.name.replace(/^waybill-/, ''),
      { replicas: object.spec.replicas, resources: resources(object.spec) },
    ]);
  const [nats, postgres, agent] = [
    find('StatefulSet', 'nats'),
    find('StatefulSet', 'postgres'),
    find('DaemonSet', 'agent'),
  ];
  /** @type {[comment: string, values: object][]} */
  const parts = [
    [
      'The image of every service and of the agents, built from the Dockerfile. No tag: the version of the chart.',
      { image: { repository: 'waybill', tag: '', pullPolicy: 'IfNotPresent', pullSecrets: [] } },
    ],
    [
      'Callers of the API need tokens. Needs the Secret waybill-acl (docs/access-control.md).',
      { accessControl: { enabled: true } },
    ],
    [
      'Variables and workload identities. Needs the Secret waybill-keyring (docs/secrets.md).',
      { keyring: { enabled: true } },
    ],
    [
      'NATS admits only the users in the ConfigMap waybill-nats-access, each service with the key in its own Secret,\nwaybill-nats-<service> (docs/security.md).',
      { natsCredentials: { enabled: true } },
    ],
    [
      'Everything over TLS, with three NATS servers. Needs the Secrets waybill-tls and waybill-nats-tls, which cert-manager\nmakes if certManager is true, and the ConfigMap waybill-ca in the namespace of the agents.',
      { tls: { enabled: false, certManager: true } },
    ],
    [
      'Autoscalers of API and scheduler, whose replicas below do not count then. Needs metrics-server.',
      { autoscaling: { enabled: true } },
    ],
    ['PodMonitors, alerts and a dashboard, for the Prometheus operator.', { monitoring: { enabled: false } }],
    [
      'Further settings of all services, such as WAYBILL_LOG_LEVEL. They stand in for those of the chart.',
      { config: {} },
    ],
    ['Replicas and resources of each service.', { services: Object.fromEntries(services) }],
    [
      'The log: three servers, or one for a cluster that may lose its data.',
      {
        nats: {
          image: image(nats),
          replicas: nats.replicas,
          resources: resources(nats),
          storage: {
            size: log.volumeClaimTemplates[0].spec.resources.requests.storage,
            maxFileStore: storeLimitOf(log)?.value,
            className: '',
          },
        },
      },
    ],
    [
      'A single PostgreSQL. Without it, and without a password here, make the Secret waybill-database.',
      {
        postgres: {
          enabled: false,
          password: '',
          image: image(postgres),
          resources: resources(postgres),
          storage: { size: postgres.volumeClaimTemplates[0].spec.resources.requests.storage, className: '' },
        },
      },
    ],
    [
      'One agent per machine, in a namespace that admits privileged pods and that you make: by default the name of the\nrelease’s namespace with "-agents" behind it. With hostNetwork, they and their tasks have the network of their machine.',
      { agents: { enabled: true, namespace: '', hostNetwork: false, config: {}, resources: resources(agent) } },
    ],
  ];
  const text = parts.map(
    ([comment, value]) => `${comment.replaceAll(/^/gm, '# ')}\n${stringify(value, { singleQuote: true })}`,
  );
  return `${NOTE}\n${text.join('\n')}`;
}

/** The generated files of the chart, by their path. @returns {Map<string, string>} */
export function chartFiles() {
  const { version, description } = JSON.parse(textOf('package.json'));
  const production = rendered(CONTROL_PLANE, 'overlays/production/control-plane');
  const all = trees(production);
  const values = valuesText(plainCopies(all), production);
  /** @type {Map<string, string[]>} */
  const files = new Map();
  for (const guarded of all) {
    const file = fileOf(guarded);
    files.set(file, [...(files.get(file) ?? []), templateOf(withValues(guarded))]);
  }
  const about = {
    apiVersion: 'v2',
    name: 'waybill',
    description,
    type: 'application',
    version,
    appVersion: version,
    kubeVersion: '>=1.27.0-0',
  };
  return new Map([
    [`${CHART}/Chart.yaml`, `${NOTE}${stringify(about, { lineWidth: 0, singleQuote: true })}`],
    [`${CHART}/values.yaml`, values],
    ...[...files].map(
      ([file, texts]) => /** @type {const} */ ([`${CHART}/templates/${file}.yaml`, `${NOTE}${texts.join('')}`]),
    ),
  ]);
}

/** Plain copies, before values are put into them. @param {Guarded[]} all @returns {Guarded[]} */
const plainCopies = (all) => JSON.parse(JSON.stringify(all));

/** What is wrong with the chart as it is in the repository. @returns {string[]} */
export function chartFindings() {
  const wanted = chartFiles();
  const stale = [...wanted].filter(
    ([file, text]) => !filesBelow(path.posix.dirname(file), /./).includes(file) || textOf(file) !== text,
  );
  const kept = filesBelow(CHART, /\.yaml$/).filter((file) => textOf(file).startsWith(NOTE) && !wanted.has(file));
  return [
    ...stale.map(([file]) => `${file} is not what k8s/ says: run npm run chart`),
    ...kept.map((file) => `${file} is not generated any more: delete it`),
  ];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [file, text] of chartFiles()) writeFileSync(path.join(root, file), text);
}
