import { BlockList, isIPv6 } from 'node:net';
import { type LabelSelector, type Manifest, type Peer, podTemplateOf, type PolicyRule } from './manifests.js';

/** An end of a connection: a pod with its labels, ports and namespace, or an address outside of the cluster's pods. */
export type End =
  | {
      namespace: string;
      namespaceLabels: Record<string, string>;
      labels: Record<string, string>;
      ports: ReadonlyMap<string, number>;
    }
  | { address: string };

/** The pods of a rendered workload. Every namespace carries its name as a label, which Kubernetes sets. */
export function podsOf(manifests: readonly Manifest[], name: string): End {
  const object = manifests.find((one) => one.metadata.name === name && podTemplateOf(one) !== undefined);
  if (object === undefined) throw new Error(`no workload ${name}`);
  const { metadata, spec } = podTemplateOf(object)!;
  const ports = spec.containers.flatMap(({ ports: own }) => own ?? []);
  return {
    ...inNamespace(object.metadata.namespace ?? '', metadata.labels),
    ports: new Map(ports.map((port) => [port.name, port.containerPort])),
  };
}

/** A pod that no manifest of Waybill makes, such as kube-dns or Prometheus. */
export function inNamespace(
  namespace: string,
  labels: Record<string, string> = {},
  namespaceLabels: Record<string, string> = {},
): End & { namespace: string } {
  return {
    namespace,
    namespaceLabels: { 'kubernetes.io/metadata.name': namespace, ...namespaceLabels },
    labels,
    ports: new Map(),
  };
}

function selects({ matchLabels = {}, matchExpressions = [] }: LabelSelector, labels: Record<string, string>): boolean {
  const equal = Object.entries(matchLabels).every(([key, value]) => labels[key] === value);
  return (
    equal &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      if (operator !== 'In') throw new Error(`the operator ${operator} is not evaluated here`);
      return values.includes(labels[key] ?? '');
    })
  );
}

function covers({ cidr, except = [] }: { cidr: string; except?: string[] }, address: string): boolean {
  const list = (cidrs: string[]): BlockList => {
    const blocks = new BlockList();
    for (const one of cidrs) {
      const [net = '', bits] = one.split('/');
      blocks.addSubnet(net, Number(bits), isIPv6(net) ? 'ipv6' : 'ipv4');
    }
    return blocks;
  };
  const family = isIPv6(address) ? 'ipv6' : 'ipv4';
  return list([cidr]).check(address, family) && !list(except).check(address, family);
}

function isPeer(peer: Peer, end: End, policyNamespace: string): boolean {
  if ('address' in end) return peer.ipBlock !== undefined && covers(peer.ipBlock, end.address);
  if (peer.ipBlock !== undefined) return false;
  const place =
    peer.namespaceSelector === undefined
      ? end.namespace === policyNamespace
      : selects(peer.namespaceSelector, end.namespaceLabels);
  return place && selects(peer.podSelector ?? {}, end.labels);
}

function onPort(rule: PolicyRule, target: End, protocol: string, port: number): boolean {
  return (
    rule.ports === undefined ||
    rule.ports.some((one) => {
      const first =
        typeof one.port === 'string' ? ('ports' in target ? target.ports.get(one.port) : undefined) : one.port;
      if (first === undefined) return one.port === undefined;
      return (one.protocol ?? 'TCP') === protocol && port >= first && port <= (one.endPort ?? first);
    })
  );
}

/**
 * Whether the network policies let a connection through, by the rules of Kubernetes: a pod that no policy selects is open,
 * and what one policy allows no other forbids.
 */
export function mayConnect(
  manifests: readonly Manifest[],
  from: End,
  to: End,
  port: number,
  protocol: 'TCP' | 'UDP' = 'TCP',
): boolean {
  const passes = (end: End, other: End, direction: 'Ingress' | 'Egress'): boolean => {
    if ('address' in end) return true;
    const policies = manifests.filter(
      ({ kind, metadata, spec }) =>
        kind === 'NetworkPolicy' &&
        metadata.namespace === end.namespace &&
        spec.policyTypes.includes(direction) &&
        selects(spec.podSelector, end.labels),
    );
    if (policies.length === 0) return true;
    return policies.some(({ spec }) =>
      (direction === 'Ingress' ? spec.ingress : spec.egress)?.some((rule) => {
        const peers = direction === 'Ingress' ? rule.from : rule.to;
        const peered = peers === undefined || peers.some((peer) => isPeer(peer, other, end.namespace));
        return peered && onPort(rule, to, protocol, port);
      }),
    );
  };
  return passes(from, to, 'Egress') && passes(to, from, 'Ingress');
}
