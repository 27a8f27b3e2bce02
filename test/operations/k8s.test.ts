import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { natsServerPath } from '@waybill/embedded';
import { readSettings, unprotectedListening } from '@waybill/service';
import { TestAuthority } from '../support/certificates.js';
import { findingsIn } from '../../scripts/kubernetes-schema.mjs';
import { filesBelow } from '../../scripts/source-tree.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const OVERLAYS = ['dev', 'production'];
const SERVICES = ['api', 'broker', 'deployments', 'nodes', 'projector', 'scheduler', 'volumes'];

interface Container {
  name: string;
  image: string;
  args?: string[];
  ports: { name: string; containerPort: number }[];
  resources: { requests: object; limits: object };
  securityContext: { capabilities: { drop: string[] } };
  env?: { name: string; value?: string }[];
  envFrom?: { configMapRef?: { name: string } }[];
  startupProbe: object;
  livenessProbe: { httpGet: object };
  readinessProbe: { httpGet: object };
}

/** The parts of a manifest that the tests look at; findingsIn() knows the rest. */
interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string };
  data?: Record<string, string>;
  spec: {
    replicas?: number;
    selector: { matchLabels: Record<string, string> };
    podSelector: { matchLabels?: Record<string, string> };
    policyTypes: string[];
    scaleTargetRef: { name: string };
    podMetricsEndpoints: { port: string }[];
    template: {
      metadata: { labels: Record<string, string> };
      spec: {
        containers: Container[];
        securityContext: Record<string, unknown>;
        serviceAccountName: string;
        automountServiceAccountToken: boolean;
        enableServiceLinks: boolean;
        terminationGracePeriodSeconds: number;
      };
    };
  };
}

function documentsOf(text: string): Manifest[] {
  return parseAllDocuments(text).map((document) => {
    expect(document.errors).toEqual([]);
    return document.toJS() as Manifest;
  });
}

/** Oldest kustomize that knows components, labels and the generators' forms used here. kubectl has it since 1.24. */
const OLDEST_KUSTOMIZE = 4;

/** `kubectl kustomize` or kustomize itself, whichever is there and young enough. */
function kustomizeCommand(): string[] | undefined {
  const candidates = [
    {
      asks: ['kubectl', 'version', '--client', '--output=json'],
      says: /"kustomizeVersion": *"v(\d+)/,
      builds: ['kubectl', 'kustomize'],
    },
    { asks: ['kustomize', 'version'], says: /v(\d+)\./, builds: ['kustomize', 'build'] },
  ];
  return candidates.find(({ asks: [program = '', ...args], says }) => {
    const major = says.exec(spawnSync(program, args, { encoding: 'utf8' }).stdout ?? '')?.[1];
    return Number(major ?? 0) >= OLDEST_KUSTOMIZE;
  })?.builds;
}

const kustomize = kustomizeCommand();

function render(folder: string): Manifest[] {
  const [program = '', ...args] = kustomize ?? [];
  const text = execFileSync(program, [...args, folder], { encoding: 'utf8' });
  return documentsOf(text).map((object) => (object.kind === 'Secret' ? unfolded(object) : object));
}

/** Kustomize folds long base64 into lines. Kubernetes ignores the line breaks, the schema's pattern does not. */
function unfolded(secret: Manifest): Manifest {
  const data = Object.entries(secret.data ?? {}).map(([key, value]) => [key, value.replaceAll('\n', '')]);
  return { ...secret, data: Object.fromEntries(data) };
}

const describeFindings = (object: Manifest, options?: { partial: boolean }) =>
  findingsIn(object, options).map((found) => `${object.kind} ${object.metadata.name} ${found.path} ${found.message}`);

describe('the files under k8s', () => {
  const files = filesBelow('k8s', /\.yaml$/);

  it('have a Deployment for every app that is a service', () => {
    const notServices = ['agent', 'cli', 'dev', 'ui', 'verify'];
    const apps = readdirSync(path.join(root, 'apps')).filter((name) => !notServices.includes(name));
    expect(apps.toSorted()).toEqual(SERVICES);
    for (const name of SERVICES) expect(files).toContain(`k8s/base/services/${name}.yaml`);
  });

  // Kustomize itself refuses unknown keys in a kustomization.yaml, when the overlays are rendered below.
  it.each(files.filter((file) => path.basename(file) !== 'kustomization.yaml'))(
    '%s is valid against the bundled schemas, unknown keys included',
    (file) => {
      const documents = documentsOf(readFileSync(path.join(root, file), 'utf8'));
      expect(documents.length).toBeGreaterThan(0);
      const partial = path.basename(file) === 'service-pod.yaml';
      expect(documents.flatMap((object) => describeFindings(object, { partial }))).toEqual([]);
    },
  );

  it.each(['k8s/base/nats/nats.conf', 'k8s/overlays/dev/nats.conf'])('%s is accepted by nats-server', async (file) => {
    const server = await natsServerPath();
    const run = spawnSync(server, ['-t', '-c', path.join(root, file)], {
      encoding: 'utf8',
      env: { ...process.env, POD_NAME: 'waybill-nats-0' },
    });
    expect(`${run.stdout}${run.stderr}`).toContain('is valid');
    expect(run.status).toBe(0);
  });

  it('are listed by the kustomization.yaml beside them, so that none is forgotten', () => {
    for (const file of files.filter((one) => path.basename(one) === 'kustomization.yaml')) {
      const folder = path.posix.dirname(file);
      const text = readFileSync(path.join(root, file), 'utf8');
      const siblings = files.filter((one) => path.posix.dirname(one) === folder && one !== file);
      for (const sibling of siblings) expect(text, sibling).toContain(path.posix.basename(sibling));
    }
  });
});

function brokerDeployment(): Manifest {
  const text = readFileSync(path.join(root, 'k8s/base/services/broker.yaml'), 'utf8');
  const found = documentsOf(text).find((object) => object.kind === 'Deployment');
  expect(found).toBeDefined();
  return found!;
}

function findingsAfter(change: (container: Container, object: Manifest) => unknown): string[] {
  const object = brokerDeployment();
  change(object.spec.template.spec.containers[0]!, object);
  return describeFindings(object);
}

describe('the schema check', () => {
  it('catches a misspelt key at any depth, and names it', () => {
    expect(findingsAfter((container) => Object.assign(container, { envFromm: [] }))).toEqual([
      'Deployment waybill-broker /spec/template/spec/containers/0/envFromm is no key that the schema knows',
    ]);
    expect(findingsAfter((_, object) => Object.assign(object, { sepc: {} }))).toHaveLength(1);
    expect(findingsAfter((_, object) => Object.assign(object.metadata, { lables: {} }))).toHaveLength(1);
    expect(
      findingsAfter((container) => Object.assign(container, { securityContext: { runAsNonroot: true } })),
    ).toHaveLength(1);
    expect(
      findingsAfter((container) => Object.assign(container, { livenessProbe: { httpGet: { port: 1, pth: '/' } } })),
    ).toHaveLength(1);
  });

  it('catches wrong types and missing keys', () => {
    expect(findingsAfter((_, object) => Object.assign(object.spec, { replicas: '2' }))).not.toEqual([]);
    expect(findingsAfter((_, object) => Reflect.deleteProperty(object.spec, 'selector'))).not.toEqual([]);
    expect(findingsIn({ apiVersion: 'apps/v1', kind: 'Deploymint' })).toHaveLength(1);
  });

  it('accepts any key where the schema does: labels, data', () => {
    expect(
      findingsIn({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'a', labels: { x: 'y' } },
        data: { b: 'c' },
      }),
    ).toEqual([]);
  });
});

describe.skipIf(kustomize === undefined).each(OVERLAYS)('overlay %s (needs kubectl 1.24 or kustomize 4)', (overlay) => {
  let manifests: Manifest[] = [];
  const ofKind = (kind: string) => manifests.filter((object) => object.kind === kind);
  const named = (kind: string, name: string) => {
    const found = ofKind(kind).find((object) => object.metadata.name === name);
    expect(found, `${kind} ${name}`).toBeDefined();
    return found!;
  };
  const config = () =>
    ofKind('ConfigMap').find((object) => object.metadata.name.startsWith('waybill-config'))?.data ?? {};

  beforeAll(() => {
    manifests = render(path.join(root, 'k8s/overlays', overlay));
  });

  it('renders only valid objects, each once and in its namespace', () => {
    expect(manifests.flatMap((object) => describeFindings(object))).toEqual([]);
    const names = manifests.map((object) => `${object.kind}/${object.metadata.name}`);
    expect(new Set(names).size).toBe(names.length);
    const namespace = ofKind('Namespace')[0]?.metadata.name;
    for (const object of manifests) if (object.kind !== 'Namespace') expect(object.metadata.namespace).toBe(namespace);
  });

  it('runs every service unprivileged, probed, bounded and disruptable', () => {
    expect(ofKind('Deployment').map((object) => object.metadata.name)).toEqual(
      SERVICES.map((name) => `waybill-${name}`),
    );
    for (const name of SERVICES) {
      const { template, selector } = named('Deployment', `waybill-${name}`).spec;
      const pod = template.spec;
      expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
      expect(pod).toMatchObject({ automountServiceAccountToken: false, enableServiceLinks: false });
      const [container] = pod.containers;
      expect(container).toMatchObject({
        args: [`apps/${name}/dist/main.js`],
        startupProbe: { httpGet: { path: '/healthz', port: 'ops' } },
        livenessProbe: { httpGet: { path: '/healthz', port: 'ops' } },
        readinessProbe: { httpGet: { path: '/readyz', port: 'ops' } },
        securityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        },
        resources: {
          requests: { cpu: expect.anything(), memory: expect.anything() },
          limits: { memory: expect.anything() },
        },
      });
      expect(container?.ports).toContainEqual({ name: 'ops', containerPort: Number(config()['WAYBILL_OPS_PORT']) });
      named('ServiceAccount', pod.serviceAccountName);
      expect(named('PodDisruptionBudget', `waybill-${name}`).spec.selector).toEqual(selector);
    }
    expect(named('Deployment', 'waybill-api').spec.template.spec.containers[0]?.ports).toContainEqual({
      name: 'http',
      containerPort: Number(config()['WAYBILL_HTTP_PORT']),
    });
  });

  it('lets the API serve until nobody is sent to it any more, and still gives it the time that a stop may take', () => {
    const pod = named('Deployment', 'waybill-api').spec.template.spec;
    expect(pod.containers[0]).toMatchObject({
      lifecycle: { preStop: { exec: { command: ['node', '-e', 'setTimeout(() => {}, 5000)'] } } },
    });
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(5 + 20);
  });

  it('refers only to objects that exist', () => {
    const names = new Set(manifests.map((object) => object.metadata.name));
    for (const object of [...ofKind('Deployment'), ...ofKind('DaemonSet'), ...ofKind('StatefulSet')]) {
      for (const container of object.spec.template.spec.containers) {
        for (const source of container.envFrom ?? []) expect(names).toContain(source.configMapRef?.name);
        expect(container.image).toMatch(/:[\w.-]+$/);
      }
      expect(names).toContain(object.spec.template.spec.serviceAccountName);
    }
  });

  it('denies all traffic that no policy names', () => {
    const [deny] = ofKind('NetworkPolicy').filter((object) => Object.keys(object.spec.podSelector).length === 0);
    expect(deny?.spec.policyTypes).toEqual(['Ingress', 'Egress']);
    const tiers = [...ofKind('Deployment'), ...ofKind('DaemonSet'), ...ofKind('StatefulSet')].map(
      (object) => object.spec.template.metadata.labels['waybill/tier'],
    );
    expect(tiers).not.toContain(undefined);
  });

  it('gives the agent no way to the database', () => {
    const [container] = named('DaemonSet', 'waybill-agent').spec.template.spec.containers;
    expect(JSON.stringify(container)).not.toContain('DATABASE_URL');
    expect(Object.keys(config())).not.toContain('WAYBILL_DATABASE_URL');
  });

  it('lets the API start, and in production asks its callers for tokens', () => {
    const [container] = named('Deployment', 'waybill-api').spec.template.spec.containers;
    const own = Object.fromEntries((container?.env ?? []).flatMap(({ name, value }) => (value ? [[name, value]] : [])));
    const settings = readSettings({ ...config(), ...own }, []);
    expect(settings.WAYBILL_HTTP_HOST).toBe('0.0.0.0');
    expect(unprotectedListening(settings)).toEqual([]);
    expect(settings.WAYBILL_ACL_ENABLED).toBe(overlay === 'production');
  });

  it('keeps as many copies of each stream as there are NATS servers', () => {
    const servers = named('StatefulSet', 'waybill-nats').spec.replicas;
    expect(servers).toBe(overlay === 'production' ? 3 : 1);
    expect(config()['WAYBILL_STREAM_REPLICAS']).toBe(String(servers));
  });

  it('takes the database from outside in production and brings one in dev', () => {
    const bundled = ofKind('StatefulSet').some((object) => object.metadata.name === 'waybill-postgres');
    expect(bundled).toBe(overlay === 'dev');
    expect(ofKind('Secret').length).toBe(overlay === 'dev' ? 1 : 0);
  });

  it('leaves the number of replicas to an autoscaler where there is one', () => {
    for (const scaler of ofKind('HorizontalPodAutoscaler')) {
      expect(named('Deployment', scaler.spec.scaleTargetRef.name).spec.replicas).toBeUndefined();
    }
  });
});

describe.skipIf(kustomize === undefined)('the TLS components (needs kubectl 1.24 or kustomize 4)', () => {
  let folder: string;
  let manifests: Manifest[];
  beforeAll(() => {
    folder = mkdtempSync(path.join(realpathSync(tmpdir()), 'waybill-overlay-'));
    const at = (below: string) => path.relative(folder, path.join(root, 'k8s', below));
    const kustomization = {
      apiVersion: 'kustomize.config.k8s.io/v1beta1',
      kind: 'Kustomization',
      namespace: 'waybill',
      resources: [at('base')],
      components: [at('components/nats-credentials'), at('components/tls'), at('components/tls-cert-manager')],
    };
    writeFileSync(path.join(folder, 'kustomization.yaml'), JSON.stringify(kustomization));
    manifests = render(folder);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  const mounted = (object: Manifest): string[] =>
    [...JSON.stringify(object.spec.template.spec).matchAll(/"secretName":"(waybill-[\w-]*tls)"/g)].map(
      ([, name]) => name ?? '',
    );

  it('render only valid objects, whose Secrets cert-manager makes', () => {
    expect(manifests.flatMap((object) => describeFindings(object))).toEqual([]);
    const made = manifests.filter(({ kind }) => kind === 'Certificate').map(({ metadata }) => metadata.name);
    const used = manifests.filter(({ kind }) => /^(Deployment|DaemonSet|StatefulSet)$/.test(kind)).flatMap(mounted);
    expect(used).toHaveLength(SERVICES.length + 2);
    for (const name of used) expect(made).toContain(name);
  });

  it('give each process settings that it takes, and a machine no key of the servers', () => {
    const shared = manifests.find(
      ({ kind, metadata }) => kind === 'ConfigMap' && metadata.name.startsWith('waybill-config'),
    );
    for (const { kind, metadata, spec } of manifests) {
      if (kind !== 'Deployment' && kind !== 'DaemonSet') continue;
      const own = spec.template.spec.containers[0]?.env ?? [];
      const env = {
        ...shared?.data,
        ...Object.fromEntries(own.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]]))),
      };
      const settings = readSettings(env, ['WAYBILL_NATS_URL']);
      expect(settings.WAYBILL_TLS_HTTP, metadata.name).toBe(metadata.name === 'waybill-api');
      expect(settings.WAYBILL_NATS_URL).toMatch(/^tls:/);
      expect(settings.WAYBILL_TLS_KEY_FILE === '', metadata.name).toBe(kind === 'DaemonSet');
      if (kind === 'DaemonSet') expect(JSON.stringify(spec)).toContain('"items":[{"key":"ca.crt","path":"ca.crt"}]');
    }
  });

  it('name every name under which NATS is called', () => {
    const certificate = JSON.stringify(manifests.find(({ metadata }) => metadata.name === 'waybill-nats-tls'));
    const text = readFileSync(path.join(root, 'k8s/components/tls/nats.conf'), 'utf8');
    const called = [...text.matchAll(/tls:\/\/([\w.-]+):/g)].map(([, host]) => host);
    expect(called).toHaveLength(3);
    for (const host of [...called, 'waybill-nats']) expect(certificate).toContain(`"${host}"`);
  });

  it('have a configuration that nats-server accepts', async () => {
    const authority = await TestAuthority.create();
    try {
      const { certFile, keyFile } = await authority.save('nats', await authority.issue());
      const text = readFileSync(path.join(root, 'k8s/components/tls/nats.conf'), 'utf8')
        .replaceAll('/etc/nats-tls/tls.crt', certFile)
        .replaceAll('/etc/nats-tls/tls.key', keyFile)
        .replaceAll('/etc/nats-tls/ca.crt', authority.caFile);
      writeFileSync(authority.file('nats.conf'), text);
      writeFileSync(authority.file('accounts.conf'), readFileSync(path.join(root, 'k8s/base/nats/accounts.conf')));
      const run = spawnSync(await natsServerPath(), ['-t', '-c', authority.file('nats.conf')], {
        encoding: 'utf8',
        env: { ...process.env, POD_NAME: 'waybill-nats-0' },
      });
      expect(`${run.stdout}${run.stderr}`).toContain('is valid');
    } finally {
      await authority.remove();
    }
  });
});

describe.skipIf(kustomize === undefined)('the monitoring component (needs kubectl 1.24 or kustomize 4)', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(path.join(realpathSync(tmpdir()), 'waybill-overlay-'));
    const at = (below: string) => path.relative(folder, path.join(root, 'k8s', below));
    const kustomization = {
      apiVersion: 'kustomize.config.k8s.io/v1beta1',
      kind: 'Kustomization',
      namespace: 'waybill',
      resources: [at('overlays/dev')],
      components: [at('components/monitoring')],
    };
    writeFileSync(path.join(folder, 'kustomization.yaml'), JSON.stringify(kustomization));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it('scrapes a port of every pod that is ours, in the namespace of the overlay', () => {
    const manifests = render(folder);
    expect(manifests.flatMap((object) => describeFindings(object))).toEqual([]);
    const monitor = manifests.find(({ kind }) => kind === 'PodMonitor');
    expect(monitor?.metadata.namespace).toBe('waybill');
    const { selector, podMetricsEndpoints } = monitor!.spec;
    const pods = manifests.filter(({ kind }) => kind === 'Deployment' || kind === 'DaemonSet');
    expect(pods).toHaveLength(SERVICES.length + 1);
    for (const { spec } of pods) {
      expect(spec.template.metadata.labels).toMatchObject(selector.matchLabels);
      const ports = spec.template.spec.containers.flatMap(({ ports: own }) => own.map(({ name }) => name));
      expect(ports).toEqual(expect.arrayContaining(podMetricsEndpoints.map(({ port }) => port)));
    }
  });
});
