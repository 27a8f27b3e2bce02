import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { containersOf, type Manifest, podTemplateOf, type PodSpec } from '../support/kubernetes/manifests.js';
import { inNamespace, mayConnect, podsOf } from '../support/kubernetes/network-rules.js';
import { productionWithAll, renderChanged } from '../support/kubernetes/overlay-copy.js';
import {
  largestMovable,
  onEachMachine,
  podRequest,
  rolledOut,
  sum,
  times,
} from '../support/kubernetes/pod-requests.js';
import { restrictedFindings } from '../support/kubernetes/pod-security.js';
import { kustomize, objectsOf, render } from '../../scripts/kustomize.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const { version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as { version: string };

const overlay = (name: string): Manifest[] => render(path.join(root, 'k8s/overlays', name));
const podsIn = (manifests: readonly Manifest[]) =>
  manifests.flatMap((object) => {
    const template = podTemplateOf(object);
    return template === undefined ? [] : [{ object, pod: template.spec }];
  });

/** Images that the manifests may run. The tag of Waybill's own is its version. */
const IMAGES: Record<string, (tag: string) => boolean> = {
  waybill: (tag) => tag === version,
  nats: (tag) => /^\d+\.\d+\.\d+-alpine$/.test(tag),
  postgres: (tag) => /^\d+\.\d+-bookworm$/.test(tag),
};

function unnamedImages(manifests: readonly Manifest[]): string[] {
  return podsIn(manifests).flatMap(({ object, pod }) =>
    containersOf(pod)
      .filter(({ image }) => {
        const [, name = '', tag = ''] = /^([^:]+):(.+)$/.exec(image) ?? [];
        return IMAGES[name]?.(tag) !== true;
      })
      .map(({ name, image }) => `${object.metadata.name} ${name}: ${image}`),
  );
}

/** What a second installation adds to the copied overlay: docs/kubernetes.md. */
const CONTROL_PLANE_OF_BLUE = `
  - target: { kind: NetworkPolicy, name: waybill-nats }
    patch: |-
      - op: replace
        path: /spec/ingress/0/from/1/namespaceSelector/matchLabels/kubernetes.io~1metadata.name
        value: blue-agents
  - target: { kind: ClusterRole.*, name: waybill-token-reviews.* }
    options: { allowNameChange: true }
    patch: |-
      - op: replace
        path: /metadata/name
        value: waybill-token-reviews.blue
  - patch: |-
      apiVersion: apps/v1
      kind: Deployment
      metadata: { name: waybill-nodes }
      spec:
        template:
          spec:
            containers:
              - name: service
                env: [{ name: WAYBILL_KUBERNETES_AGENTS, value: blue-agents/waybill-agent }]
`;
/** Kinds whose objects are in no namespace. */
const OF_THE_CLUSTER = new Set(['ClusterRole', 'ClusterRoleBinding']);
const namespacesOf = (manifests: readonly Manifest[]): Set<string | undefined> =>
  new Set(manifests.filter(({ kind }) => !OF_THE_CLUSTER.has(kind)).map(({ metadata }) => metadata.namespace));

const AGENTS_OF_BLUE = `
configMapGenerator:
  - name: waybill-agent-config
    behavior: merge
    literals:
      - WAYBILL_NATS_URL=nats://waybill-nats.blue:4222
`;

/** Where the agents of an installation look for the log. */
function hostOfLog(manifests: readonly Manifest[]): string {
  const own = manifests.find(({ metadata }) => metadata.name.startsWith('waybill-agent-config'));
  return new URL(own?.data?.['WAYBILL_NATS_URL'] ?? '').hostname;
}

describe.skipIf(kustomize === undefined)('manifests in a cluster (needs kubectl 1.24 or kustomize 4)', () => {
  let dev: Manifest[];
  let production: Manifest[];
  let withAll: Manifest[];
  beforeAll(() => {
    dev = overlay('dev');
    production = overlay('production');
    withAll = productionWithAll();
  });
  const all = () => [dev, production, withAll];

  it('run images that they name, with a pinned tag, in every kind of container', () => {
    for (const manifests of all()) expect(unnamedImages(manifests)).toEqual([]);
    const enrolled = podsIn(production).flatMap(({ pod }) => pod.initContainers ?? []);
    expect(enrolled.map(({ name }) => name)).toEqual(['enrol']);
  });

  it('take the image that an operator names in production, in every kind of container', () => {
    const moved = renderChanged('production', (text) =>
      text.replace(/^# images:[^]*/m, (one) => one.replaceAll('# ', '')),
    );
    const images = podsIn(moved).flatMap(({ pod }) => containersOf(pod).map(({ image }) => image));
    expect(new Set(images)).toEqual(
      new Set([`registry.example.com/waybill:${version}`, expect.stringMatching(/^nats:/)]),
    );
  });

  it.each([
    ['an init container', { initContainers: [{ name: 'enrol', image: 'waybill' }] }],
    ['an ephemeral container', { ephemeralContainers: [{ name: 'look', image: 'busybox:1.36' }] }],
    ['a container with a moving tag', { containers: [{ name: 'nats', image: 'nats:latest' }] }],
  ])('are refused with %s that runs another image', (_, containers) => {
    const spec = { template: { metadata: { labels: {} }, spec: { containers: [], ...containers } } };
    const object = { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'one' }, spec };
    expect(unnamedImages([object as unknown as Manifest])).toHaveLength(1);
  });

  describe('leave the namespaces to their owner', () => {
    it.each(['dev', 'production'])('%s has no namespace, and uses those of the examples', (name) => {
      const manifests = overlay(name);
      expect(manifests.map(({ kind }) => kind)).not.toContain('Namespace');
      const examples: Manifest[] = objectsOf(readFileSync(path.join(root, `k8s/namespaces/${name}.yaml`), 'utf8'));
      expect(namespacesOf(manifests)).toEqual(new Set(examples.map(({ metadata }) => metadata.name)));
      for (const { object } of podsIn(manifests)) {
        const labels = examples.find(({ metadata }) => metadata.name === object.metadata.namespace)?.metadata.labels;
        const enforced = labels?.['pod-security.kubernetes.io/enforce'];
        expect(enforced).toBe(object.kind === 'DaemonSet' ? 'privileged' : 'restricted');
      }
    });
  });

  it('run everything but the agents under the Pod Security Standard `restricted`', () => {
    for (const manifests of all()) {
      for (const { object, pod } of podsIn(manifests)) {
        const findings = restrictedFindings(pod);
        if (object.kind === 'DaemonSet') expect(findings).toContain('volume data is a hostPath');
        else expect(findings, object.metadata.name).toEqual([]);
      }
    }
  });

  it('keep agents off the network of their machines unless the overlay asks for it', () => {
    const agentOf = (manifests: readonly Manifest[]) =>
      podsIn(manifests).find(({ object }) => object.kind === 'DaemonSet')?.pod;
    for (const manifests of [dev, production]) expect(agentOf(manifests)?.hostNetwork).toBeUndefined();
    const pod = agentOf(withAll);
    expect([pod?.hostNetwork, pod?.dnsPolicy]).toEqual([true, 'ClusterFirstWithHostNet']);
    const machine = { address: '203.0.113.7' };
    expect(mayConnect(withAll, machine, podsOf(withAll, 'waybill-nats'), 4222)).toBe(true);
    expect(mayConnect(withAll, machine, podsOf(withAll, 'waybill-nats'), 6222)).toBe(false);
    expect(mayConnect(production, machine, podsOf(production, 'waybill-nats'), 4222)).toBe(false);
  });

  describe('fit a small cluster', () => {
    it('dev fits one machine of 2 CPUs and 4 GB, beside a control plane of Kubernetes, while all of it is replaced', () => {
      const asked = sum([rolledOut(dev, 'minReplicas'), onEachMachine(dev)]);
      // On a cluster of one machine made by kind, the pods of Kubernetes itself request 950m and 290 MiB, and the kubelet
      // keeps some memory for the system.
      expect(asked.cpuMillis).toBeLessThanOrEqual(2000 - 950);
      expect(asked.memoryBytes).toBeLessThanOrEqual(4e9 - 1024 * 2 ** 20);
    });

    // Of 2 CPUs and 8 GiB, the kubelet and the pods of Kubernetes on each machine keep this much.
    const machine = { cpuMillis: 2000 - 400, memoryBytes: 8 * 2 ** 30 - 1.5 * 2 ** 30 };

    it('production can be replaced as a whole on three machines of 2 CPUs, wherever its pods were placed', () => {
      // One machine has room for every pod that may move, so no placement of them blocks a rollout.
      const asked = sum([rolledOut(production, 'minReplicas'), onEachMachine(production)]);
      expect(asked.cpuMillis).toBeLessThanOrEqual(machine.cpuMillis);
      expect(asked.memoryBytes).toBeLessThanOrEqual(machine.memoryBytes);
    });

    it('production can be replaced on them while the autoscalers ask for all that they may', () => {
      // A pod finds no place only if less than its request is free on each of the machines.
      const largest = largestMovable(production);
      const room = times(3, {
        cpuMillis: machine.cpuMillis - largest.cpuMillis,
        memoryBytes: machine.memoryBytes - largest.memoryBytes,
      });
      const asked = sum([rolledOut(production, 'maxReplicas'), times(3, onEachMachine(production))]);
      expect(asked.cpuMillis).toBeLessThanOrEqual(room.cpuMillis);
      expect(asked.memoryBytes).toBeLessThanOrEqual(room.memoryBytes);
    });

    it('counts the largest init container, and a pod more for each rollout', () => {
      const one = (cpu: string) => ({ name: cpu, image: 'x', resources: { requests: { cpu, memory: '1Mi' } } });
      const spec = { containers: [one('50m'), one('0.1')], initContainers: [one('1')] } as unknown as PodSpec;
      expect(podRequest(spec)).toEqual({ cpuMillis: 1000, memoryBytes: 2 * 2 ** 20 });
      const plain = podRequest({ ...spec, initContainers: [] });
      expect(plain.cpuMillis).toBe(150);
      const object = {
        kind: 'Deployment',
        metadata: { name: 'a' },
        spec: { replicas: 2, strategy: { rollingUpdate: { maxSurge: 1 } }, template: { spec } },
      } as unknown as Manifest;
      expect(rolledOut([object], 'minReplicas').cpuMillis).toBe(3000);
    });

    it('let autoscalers follow CPU time, not shares of requests that are what an idle replica uses', () => {
      const scalers = production.filter(({ kind }) => kind === 'HorizontalPodAutoscaler');
      expect(scalers).toHaveLength(2);
      for (const scaler of scalers) expect(JSON.stringify(scaler)).not.toContain('averageUtilization');
    });
  });

  describe('may talk to whom they must, and to nobody else', () => {
    it.each(['dev', 'production'])('in %s', (name) => {
      const manifests = overlay(name);
      const api = podsOf(manifests, 'waybill-api');
      const scheduler = podsOf(manifests, 'waybill-scheduler');
      const nats = podsOf(manifests, 'waybill-nats');
      const agent = podsOf(manifests, 'waybill-agent');
      const stranger = inNamespace('default');
      const prometheus = inNamespace('monitoring', {}, { 'waybill/metrics': 'read' });

      expect(mayConnect(manifests, scheduler, nats, 4222)).toBe(true);
      expect(mayConnect(manifests, agent, nats, 4222)).toBe(true);
      expect(mayConnect(manifests, nats, nats, 6222)).toBe(true);
      expect(mayConnect(manifests, stranger, api, 4646)).toBe(true);
      expect(mayConnect(manifests, stranger, agent, 20_000)).toBe(true);
      for (const pod of [api, agent]) expect(mayConnect(manifests, prometheus, pod, 9090)).toBe(true);

      expect(mayConnect(manifests, stranger, nats, 4222)).toBe(false);
      expect(mayConnect(manifests, inNamespace('default', { 'waybill/tier': 'agent' }), nats, 4222)).toBe(false);
      expect(mayConnect(manifests, agent, nats, 6222)).toBe(false);
      expect(mayConnect(manifests, stranger, agent, 9090)).toBe(false);
      expect(mayConnect(manifests, scheduler, api, 4646)).toBe(false);
      expect(mayConnect(manifests, nats, { address: '1.1.1.1' }, 443)).toBe(false);
      if (name === 'dev') {
        const postgres = podsOf(manifests, 'waybill-postgres');
        expect(mayConnect(manifests, scheduler, postgres, 5432)).toBe(true);
        expect(mayConnect(manifests, agent, postgres, 5432)).toBe(false);
      } else expect(mayConnect(manifests, scheduler, { address: '203.0.113.7' }, 5432)).toBe(true);
    });

    it('names are asked for at kube-dns, at node-local DNS and at the cluster IP that it takes over', () => {
      const kubeDns = inNamespace('kube-system', { 'k8s-app': 'kube-dns' });
      for (const manifests of all()) {
        for (const name of ['waybill-api', 'waybill-nats', 'waybill-agent']) {
          const pod = podsOf(manifests, name);
          for (const protocol of ['UDP', 'TCP'] as const) {
            const asks = (to: Parameters<typeof mayConnect>[2]) => mayConnect(manifests, pod, to, 53, protocol);
            expect(asks(kubeDns), name).toBe(true);
            for (const address of ['169.254.20.10', '10.96.0.10', '172.20.0.10', 'fd00::a']) {
              expect(asks({ address }), `${name} at ${address}`).toBe(true);
            }
            if (name !== 'waybill-agent') expect(asks({ address: '8.8.8.8' }), name).toBe(false);
          }
        }
      }
    });
  });

  describe('two installations in one cluster', () => {
    const DIRECTORY = '/var/lib/waybill';
    /** Directories of the machine in which an installation writes. */
    const onMachine = (manifests: readonly Manifest[]): string[] =>
      podsIn(manifests).flatMap(({ object, pod }) =>
        (pod.volumes ?? []).flatMap(({ name, hostPath }) => {
          if (hostPath === undefined) return [];
          return containersOf(pod).flatMap(({ volumeMounts = [], env = [] }) =>
            volumeMounts
              .filter((mount) => mount.name === name)
              .map(({ subPathExpr = '' }) => {
                const own = env.find((one) => subPathExpr === `$(${one.name})`)?.valueFrom?.fieldRef?.fieldPath;
                return path.join(
                  hostPath.path,
                  own === 'metadata.namespace' ? object.metadata.namespace! : subPathExpr,
                );
              }),
          );
        }),
      );

    it('have no object and no directory of a machine in common', () => {
      const [one, other] = [dev, production].map((manifests) => ({
        objects: manifests.map(({ kind, metadata }) => `${kind} ${metadata.namespace}/${metadata.name}`),
        directories: new Set(onMachine(manifests)),
      }));
      expect(one!.objects.filter((object) => other!.objects.includes(object))).toEqual([]);
      expect(one!.directories).toEqual(new Set([`${DIRECTORY}/waybill-dev-agents`]));
      expect(other!.directories).toEqual(new Set([`${DIRECTORY}/waybill-agents`]));
    });

    it('of production have all in their own namespaces after the changes that the docs name', () => {
      const second = renderChanged('production', (text) => {
        const added = text.includes('namespace: waybill-agents') ? AGENTS_OF_BLUE : CONTROL_PLANE_OF_BLUE;
        return text.includes('namespace: waybill')
          ? text.replace('namespace: waybill', 'namespace: blue') + added
          : text;
      });
      expect(namespacesOf(second)).toEqual(new Set(['blue', 'blue-agents']));
      const ofCluster = (manifests: readonly Manifest[]) => manifests.filter(({ kind }) => OF_THE_CLUSTER.has(kind));
      const [role, binding, ...rest] = ofCluster(second);
      expect([role?.metadata.name, binding?.metadata.name, rest]).toEqual([
        'waybill-token-reviews.blue',
        'waybill-token-reviews.blue',
        [],
      ]);
      expect(JSON.stringify(binding)).not.toContain('waybill-token-reviews.waybill');
      expect(JSON.stringify(second)).toContain('"value":"blue-agents/waybill-agent"');
      expect(new Set(onMachine(second))).toEqual(new Set([`${DIRECTORY}/blue-agents`]));
      expect(mayConnect(second, podsOf(second, 'waybill-agent'), podsOf(second, 'waybill-nats'), 4222)).toBe(true);
      expect(hostOfLog(second)).toBe('waybill-nats.blue');
    });

    it("do not reach each other's log", () => {
      const both = [...dev, ...production];
      const [ours, theirs] = [podsOf(dev, 'waybill-nats'), podsOf(production, 'waybill-nats')];
      for (const name of ['waybill-agent', 'waybill-scheduler']) {
        expect(mayConnect(both, podsOf(dev, name), ours, 4222), name).toBe(true);
        expect(mayConnect(both, podsOf(dev, name), theirs, 4222), name).toBe(false);
        expect(mayConnect(both, podsOf(production, name), ours, 4222), name).toBe(false);
      }
    });

    it('have agents that call the log of their own installation', () => {
      for (const manifests of all()) {
        const nats = manifests.find(({ kind, metadata }) => kind === 'Service' && metadata.name === 'waybill-nats');
        expect(hostOfLog(manifests)).toBe(`waybill-nats.${nats?.metadata.namespace}`);
      }
    });
  });
});
