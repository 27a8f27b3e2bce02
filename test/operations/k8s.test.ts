import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { natsServerPath } from '@waybill/embedded';
import { KEYED_SERVICES, readSettings, unprotectedListening } from '@waybill/service';
import { TestAuthority } from '../support/certificates.js';
import { type Container, type Manifest } from '../support/kubernetes/manifests.js';
import { productionWithAll } from '../support/kubernetes/overlay-copy.js';
import { secretsOf } from '../../scripts/kubernetes-secrets.mjs';
import { findingsIn } from '../../scripts/kubernetes-schema.mjs';
import { kustomize, objectsOf, render } from '../../scripts/kustomize.mjs';
import { filesBelow } from '../../scripts/source-tree.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const OVERLAYS = ['dev', 'production'];
const SERVICES = ['api', 'broker', 'deployments', 'nodes', 'projector', 'scheduler', 'volumes'];

/** The namespaces that the owner of the cluster makes for an overlay: of the control plane, and of the agents. */
function namespacesOf(overlay: string): string[] {
  const objects: Manifest[] = objectsOf(readFileSync(path.join(root, `k8s/namespaces/${overlay}.yaml`), 'utf8'));
  expect(objects.map(({ kind }) => kind)).toEqual(['Namespace', 'Namespace']);
  return objects.map(({ metadata }) => metadata.name);
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
      const documents = objectsOf(readFileSync(path.join(root, file), 'utf8'));
      expect(documents.length).toBeGreaterThan(0);
      const partial = path.basename(file) === 'service-pod.yaml';
      expect(documents.flatMap((object) => describeFindings(object, { partial }))).toEqual([]);
    },
  );

  it.each(['k8s/base/nats/nats.conf', 'k8s/overlays/dev/control-plane/nats.conf'])(
    '%s is accepted by nats-server',
    async (file) => {
      const server = await natsServerPath();
      const run = spawnSync(server, ['-t', '-c', path.join(root, file)], {
        encoding: 'utf8',
        env: { ...process.env, POD_NAME: 'waybill-nats-0', NATS_MAX_FILE_STORE: '9GB' },
      });
      expect(`${run.stdout}${run.stderr}`).toContain('is valid');
      expect(run.status).toBe(0);
    },
  );

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
  const found = objectsOf(text).find((object) => object.kind === 'Deployment');
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
    const names = manifests.map(({ kind, metadata }) => `${kind} ${metadata.namespace}/${metadata.name}`);
    expect(new Set(names).size).toBe(names.length);
    const [controlPlane, agents] = namespacesOf(overlay);
    for (const { kind, metadata } of manifests) {
      const ofAgents = metadata.name.startsWith('waybill-agent') || kind === 'DaemonSet';
      if (ofAgents) expect(metadata.namespace, `${kind} ${metadata.name}`).toBe(agents);
      else if (kind.startsWith('ClusterRole')) expect(metadata.name).toBe(`waybill-token-reviews.${controlPlane}`);
      else expect([controlPlane, agents], `${kind} ${metadata.name}`).toContain(metadata.namespace);
    }
    for (const object of ['Deployment', 'StatefulSet', 'Secret', 'Service'].flatMap(ofKind)) {
      expect(object.metadata.namespace, object.metadata.name).toBe(controlPlane);
    }
  });

  it('lets NATS keep nine tenths of its volume, so that it refuses writes before the volume is full', () => {
    const { template, volumeClaimTemplates } = named('StatefulSet', 'waybill-nats').spec;
    const limit = template.spec.containers[0]?.env?.find(({ name }) => name === 'NATS_MAX_FILE_STORE')?.value;
    const volume = volumeClaimTemplates?.[0]?.spec.resources.requests.storage;
    const [, limitGiB] = /^(\d+)GB$/.exec(String(limit)) ?? []; // nats-server counts 1,073,741,824 bytes as 1GB
    const [, volumeGiB] = /^(\d+)Gi$/.exec(String(volume)) ?? [];
    expect(Number(limitGiB) / Number(volumeGiB)).toBe(0.9);
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
      expect(container!.ports).toContainEqual({ name: 'ops', containerPort: Number(config()['WAYBILL_OPS_PORT']) });
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
      }
      expect(names).toContain(object.spec.template.spec.serviceAccountName);
    }
  });

  it('starts no task as root, so that the keys of an agent are out of the reach of tasks', () => {
    const config = ofKind('ConfigMap').find(({ metadata }) => metadata.name.startsWith('waybill-agent-config'));
    expect(config?.['data']).toMatchObject({
      WAYBILL_RAW_EXEC_USER: 'nobody',
      WAYBILL_RAW_EXEC_DENIED_UIDS: '0',
      WAYBILL_RAW_EXEC_DENIED_GIDS: '0',
      WAYBILL_MOCK_DRIVER_ENABLED: 'false',
    });
  });

  it('denies all traffic that no policy names', () => {
    const denied = ofKind('NetworkPolicy').filter(({ metadata }) => metadata.name === 'waybill-default-deny');
    expect(denied.map(({ metadata }) => metadata.namespace)).toEqual(expect.arrayContaining(namespacesOf(overlay)));
    for (const { spec } of denied) {
      expect(spec).toEqual({ podSelector: {}, policyTypes: ['Ingress', 'Egress'] });
    }
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

  it('EB-10, AU-252: in production each service connects to NATS with its own key, which no other pod has', () => {
    const secretsOf = ({ spec }: Manifest): string[] =>
      [...JSON.stringify(spec.template.spec).matchAll(/"secretName":"(waybill-nats-[\w-]+)"/g)]
        .map(([, name]) => name ?? '')
        .filter((name) => name !== 'waybill-nats-tls' && name !== 'waybill-nats-issuer');
    const isProduction = overlay === 'production';
    expect(KEYED_SERVICES).toEqual(SERVICES);
    for (const service of KEYED_SERVICES) {
      const deployment = named('Deployment', `waybill-${service}`);
      expect(secretsOf(deployment)).toEqual(isProduction ? [`waybill-nats-${service}`] : []);
      const [container] = deployment.spec.template.spec.containers;
      const file = container?.env?.find(({ name }) => name === 'WAYBILL_NATS_CREDENTIALS')?.value;
      const mount = container?.volumeMounts?.find(({ name }) => name === 'nats-credentials')?.mountPath;
      expect([file, mount]).toEqual(
        isProduction ? ['/etc/waybill/nats/nats.seed', '/etc/waybill/nats'] : [undefined, undefined],
      );
    }
    for (const object of [...ofKind('DaemonSet'), ...ofKind('StatefulSet')]) expect(secretsOf(object)).toEqual([]);
  });

  it('AU-264, AU-266: in production the nodes services admit machines, and they alone may ask Kubernetes', () => {
    const isProduction = overlay === 'production';
    const pods = [...ofKind('Deployment'), ...ofKind('DaemonSet'), ...ofKind('StatefulSet')];
    const holding = (text: string): string[] =>
      pods.filter(({ spec }) => JSON.stringify(spec).includes(text)).map(({ metadata }) => metadata.name);
    const nodesOnly = isProduction ? ['waybill-nodes'] : [];
    expect(holding('"secretName":"waybill-nats-issuer"')).toEqual(nodesOnly);
    expect(holding('"serviceAccountToken":{"expirationSeconds":3600,"path":"token"}')).toEqual(nodesOnly);
    expect(holding('"audience":"waybill"')).toEqual(isProduction ? ['waybill-agent'] : []);
    expect(ofKind('ClusterRole').map((object) => Object.entries(object).find(([key]) => key === 'rules')?.[1])).toEqual(
      isProduction ? [[{ apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'] }]] : [],
    );
    if (!isProduction) return;
    const env = new Map(
      named('Deployment', 'waybill-nodes').spec.template.spec.containers[0]?.env?.map(({ name, value }) => [
        name,
        value,
      ]),
    );
    const [, agents] = namespacesOf(overlay);
    expect(env.get('WAYBILL_KUBERNETES_AGENTS')).toBe(`${agents}/waybill-agent`);
    expect(env.get('WAYBILL_CLIENT_INTRODUCTION_ENFORCEMENT')).toBe('strict');
    const subject = { kind: 'ServiceAccount', name: 'waybill-nodes', namespace: 'waybill' };
    expect(
      ofKind('ClusterRoleBinding').map((object) => Object.entries(object).find(([key]) => key === 'subjects')?.[1]),
    ).toEqual([[subject]]);
  });

  it('needs no Secret in production but those that scripts/kubernetes-secrets.mjs prints', async () => {
    if (overlay !== 'production') return;
    const made: Manifest[] = secretsOf('waybill', 'postgres://db.example.com/waybill');
    const text = JSON.stringify(manifests);
    const named = (pattern: RegExp): string[] => [...text.matchAll(pattern)].map(([, name]) => name ?? '');
    const needed = [
      ...named(/"secretName":"([\w-]+)"/g),
      ...named(/"secretKeyRef":\{[^}]*"name":"([\w-]+)"/g),
      'waybill-nats-access',
    ];
    expect(new Set(made.map(({ metadata }) => metadata.name))).toEqual(new Set(needed));
    expect(made.flatMap((object) => describeFindings(object))).toEqual([]);
    const dir = mkdtempSync(path.join(tmpdir(), 'waybill-secrets-'));
    try {
      writeFileSync(path.join(dir, 'nats.conf'), readFileSync(path.join(root, 'k8s/base/nats/nats.conf')));
      const access = made.find(({ metadata }) => metadata.name === 'waybill-nats-access');
      writeFileSync(path.join(dir, 'accounts.conf'), access?.data?.['accounts.conf'] ?? '');
      const env = { ...process.env, POD_NAME: 'waybill-nats-0', NATS_MAX_FILE_STORE: '9GB' };
      const run = spawnSync(await natsServerPath(), ['-t', '-c', path.join(dir, 'nats.conf')], {
        encoding: 'utf8',
        env,
      });
      expect([run.status, `${run.stdout}${run.stderr}`]).toEqual([0, expect.stringContaining('is valid')]);
    } finally {
      rmSync(dir, { recursive: true });
    }
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
  let manifests: Manifest[];
  beforeAll(() => {
    manifests = productionWithAll();
  });

  const mounted = (object: Manifest): string[] =>
    [...JSON.stringify(object.spec.template.spec).matchAll(/"secretName":"(waybill-[\w-]*tls)"/g)].map(
      ([, name]) => name ?? '',
    );

  it('render only valid objects, whose Secrets cert-manager makes', () => {
    expect(manifests.flatMap((object) => describeFindings(object))).toEqual([]);
    const made = manifests.filter(({ kind }) => kind === 'Certificate').map(({ metadata }) => metadata.name);
    const used = manifests.filter(({ kind }) => /^(Deployment|DaemonSet|StatefulSet)$/.test(kind)).flatMap(mounted);
    expect(used).toHaveLength(SERVICES.length + 1);
    for (const name of used) expect(made).toContain(name);
  });

  it('give each process settings that it takes, and a machine no key of the servers', () => {
    const shared = (prefix: string) =>
      manifests.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name.startsWith(prefix))?.data;
    for (const { kind, metadata, spec } of manifests) {
      if (kind !== 'Deployment' && kind !== 'DaemonSet') continue;
      const own = spec.template.spec.containers[0]?.env ?? [];
      const env = {
        ...shared(kind === 'DaemonSet' ? 'waybill-agent-config' : 'waybill-config'),
        ...Object.fromEntries(own.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]]))),
      };
      const settings = readSettings(env, ['WAYBILL_NATS_URL']);
      expect(settings.WAYBILL_TLS_HTTP, metadata.name).toBe(metadata.name === 'waybill-api');
      expect(settings.WAYBILL_NATS_URL).toMatch(/^tls:/);
      expect(settings.WAYBILL_TLS_KEY_FILE === '', metadata.name).toBe(kind === 'DaemonSet');
      if (kind === 'DaemonSet') {
        expect(spec.template.spec.volumes).toContainEqual({ name: 'tls', configMap: { name: 'waybill-ca' } });
        expect(JSON.stringify(spec)).not.toContain('"secret"');
      }
    }
  });

  it('name every name under which NATS is called', () => {
    const certificate = JSON.stringify(manifests.find(({ metadata }) => metadata.name === 'waybill-nats-tls'));
    const text = readFileSync(path.join(root, 'k8s/components/tls/nats.conf'), 'utf8');
    const called = [...text.matchAll(/tls:\/\/([\w.-]+):/g)].map(([, host]) => host);
    expect(called).toHaveLength(3);
    const byAgents = manifests.find(({ metadata }) => metadata.name.startsWith('waybill-agent-config'));
    const agentsCall = new URL(byAgents?.data?.['WAYBILL_NATS_URL'] ?? '').hostname;
    expect(agentsCall).toBe('waybill-nats.waybill');
    for (const host of [...called, 'waybill-nats', agentsCall]) expect(certificate).toContain(`"${host}"`);
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
        env: { ...process.env, POD_NAME: 'waybill-nats-0', NATS_MAX_FILE_STORE: '9GB' },
      });
      expect(`${run.stdout}${run.stderr}`).toContain('is valid');
    } finally {
      await authority.remove();
    }
  });
});

describe.skipIf(kustomize === undefined)('the monitoring component (needs kubectl 1.24 or kustomize 4)', () => {
  it('scrapes a port of every pod that is ours, in its namespace', () => {
    const manifests = productionWithAll();
    const monitors = manifests.filter(({ kind }) => kind === 'PodMonitor');
    expect(new Set(monitors.map(({ metadata }) => metadata.namespace))).toEqual(new Set(['waybill', 'waybill-agents']));
    const pods = manifests.filter(({ kind }) => kind === 'Deployment' || kind === 'DaemonSet');
    expect(pods).toHaveLength(SERVICES.length + 1);
    for (const { metadata, spec } of pods) {
      const monitor = monitors.find((one) => one.metadata.namespace === metadata.namespace);
      const { selector, podMetricsEndpoints } = monitor!.spec;
      expect(spec.template.metadata.labels).toMatchObject(selector.matchLabels);
      const ports = spec.template.spec.containers.flatMap(({ ports: own = [] }) => own.map(({ name }) => name));
      expect(ports).toEqual(expect.arrayContaining(podMetricsEndpoints.map(({ port }) => port)));
    }
  });
});
