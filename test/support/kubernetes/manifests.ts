/** The parts of a container that the tests look at; `findingsIn` of scripts/kubernetes-schema.mjs knows the rest. */
export interface Container {
  name: string;
  image: string;
  args?: string[];
  ports?: { name: string; containerPort: number; hostPort?: number }[];
  resources?: { requests?: Record<string, string>; limits?: Record<string, string> };
  securityContext?: SecurityContext & {
    allowPrivilegeEscalation?: boolean;
    privileged?: boolean;
    capabilities?: { drop?: string[]; add?: string[] };
  };
  env?: { name: string; value?: string; valueFrom?: { fieldRef?: { fieldPath: string } } }[];
  envFrom?: { configMapRef?: { name: string } }[];
  volumeMounts?: { name: string; mountPath: string; subPathExpr?: string }[];
}

export interface SecurityContext {
  runAsNonRoot?: boolean;
  runAsUser?: number;
  seccompProfile?: { type: string };
}

export interface PodSpec {
  containers: Container[];
  initContainers?: Container[];
  ephemeralContainers?: Container[];
  securityContext?: SecurityContext;
  serviceAccountName: string;
  automountServiceAccountToken: boolean;
  enableServiceLinks: boolean;
  terminationGracePeriodSeconds: number;
  hostNetwork?: boolean;
  dnsPolicy?: string;
  hostPID?: boolean;
  hostIPC?: boolean;
  volumes?: ({ name: string; hostPath?: { path: string } } & Record<string, unknown>)[];
}

export interface PodTemplate {
  metadata: { labels: Record<string, string> };
  spec: PodSpec;
}

export interface LabelSelector {
  matchLabels?: Record<string, string>;
  matchExpressions?: { key: string; operator: string; values?: string[] }[];
}

export interface Peer {
  podSelector?: LabelSelector;
  namespaceSelector?: LabelSelector;
  ipBlock?: { cidr: string; except?: string[] };
}

export interface PolicyRule {
  from?: Peer[];
  to?: Peer[];
  ports?: { protocol?: string; port?: number | string; endPort?: number }[];
}

/** The parts of a manifest that the tests look at. */
export interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string; labels?: Record<string, string>; annotations?: Record<string, string> };
  data?: Record<string, string>;
  spec: {
    replicas?: number;
    strategy?: { rollingUpdate?: { maxSurge?: number } };
    selector: { matchLabels: Record<string, string> };
    podSelector: LabelSelector;
    policyTypes: string[];
    ingress?: PolicyRule[];
    egress?: PolicyRule[];
    scaleTargetRef: { name: string };
    minReplicas?: number;
    maxReplicas?: number;
    podMetricsEndpoints: { port: string }[];
    template: PodTemplate;
    volumeClaimTemplates?: { spec: { resources: { requests: { storage: string } } } }[];
    jobTemplate?: { spec: { template: PodTemplate } };
  };
}

/** The template of the pods that an object makes; a Pod is its own. */
export function podTemplateOf(object: Manifest): PodTemplate | undefined {
  switch (object.kind) {
    case 'Pod':
      return object as unknown as PodTemplate;
    case 'CronJob':
      return object.spec.jobTemplate?.spec.template;
    case 'Deployment':
    case 'DaemonSet':
    case 'StatefulSet':
    case 'ReplicaSet':
    case 'Job':
      return object.spec.template;
    default:
      return undefined;
  }
}

/** Containers of every kind: those that run, those that run before them, and those that are added for a look inside. */
export function containersOf(pod: PodSpec): Container[] {
  return [...(pod.initContainers ?? []), ...pod.containers, ...(pod.ephemeralContainers ?? [])];
}
