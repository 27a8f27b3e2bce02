import { type Manifest, podTemplateOf, type PodSpec } from './manifests.js';

export interface Resources {
  cpuMillis: number;
  memoryBytes: number;
}

const NONE: Resources = { cpuMillis: 0, memoryBytes: 0 };
const UNITS: Record<string, number> = { '': 1, k: 1e3, M: 1e6, G: 1e9, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30 };

function cpuMillis(text: string): number {
  const [, amount, milli] = /^([\d.]+)(m?)$/.exec(text) ?? [];
  if (amount === undefined) throw new Error(`${text} is no amount of CPU that this reader knows`);
  return milli === 'm' ? Number(amount) : Number(amount) * 1000;
}

function bytes(text: string): number {
  const [, amount, unit = ''] = /^([\d.]+)([A-Za-z]*)$/.exec(text) ?? [];
  const factor = UNITS[unit];
  if (amount === undefined || factor === undefined) throw new Error(`${text} is no amount of memory`);
  return Number(amount) * factor;
}

const plus = (a: Resources, b: Resources): Resources => ({
  cpuMillis: a.cpuMillis + b.cpuMillis,
  memoryBytes: a.memoryBytes + b.memoryBytes,
});

const larger = (a: Resources, b: Resources): Resources => ({
  cpuMillis: Math.max(a.cpuMillis, b.cpuMillis),
  memoryBytes: Math.max(a.memoryBytes, b.memoryBytes),
});

export const times = (n: number, one: Resources): Resources => ({
  cpuMillis: n * one.cpuMillis,
  memoryBytes: n * one.memoryBytes,
});

export const sum = (all: readonly Resources[]): Resources => all.reduce(plus, NONE);

/** What the Kubernetes scheduler reserves for a pod: its containers together, or its largest init container. */
export function podRequest(pod: PodSpec): Resources {
  const of = ({ resources, name }: PodSpec['containers'][number]): Resources => {
    const { cpu, memory } = resources?.requests ?? {};
    if (cpu === undefined || memory === undefined) throw new Error(`${name} requests no CPU or no memory`);
    return { cpuMillis: cpuMillis(cpu), memoryBytes: bytes(memory) };
  };
  return (pod.initContainers ?? []).map(of).reduce(larger, sum(pod.containers.map(of)));
}

/**
 * The pods of each Deployment while all Deployments are rolled out at once: as many as its autoscaler may ask for, and
 * `maxSurge` more.
 */
export function rolledOut(manifests: readonly Manifest[], atMost: 'minReplicas' | 'maxReplicas'): Resources {
  const deployments = manifests.filter(({ kind }) => kind === 'Deployment');
  return sum(
    deployments.map(({ metadata, spec }) => {
      const scaler = manifests.find(
        (object) => object.kind === 'HorizontalPodAutoscaler' && object.spec.scaleTargetRef.name === metadata.name,
      );
      const replicas = scaler?.spec[atMost] ?? spec.replicas ?? 1;
      return times(replicas + (spec.strategy?.rollingUpdate?.maxSurge ?? 1), podRequest(spec.template.spec));
    }),
  );
}

/** The largest request of a pod that may run on any machine. */
export function largestMovable(manifests: readonly Manifest[]): Resources {
  return manifests
    .filter(({ kind }) => kind === 'Deployment')
    .map(({ spec }) => podRequest(spec.template.spec))
    .reduce(larger, NONE);
}

/** What the pods of DaemonSets and StatefulSets take on a machine that has one of each. */
export function onEachMachine(manifests: readonly Manifest[]): Resources {
  const bound = manifests.filter(({ kind }) => kind === 'DaemonSet' || kind === 'StatefulSet');
  return sum(bound.map((object) => podRequest(podTemplateOf(object)!.spec)));
}
