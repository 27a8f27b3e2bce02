import { containersOf, type PodSpec } from './manifests.js';

/** Kinds of volumes that the Pod Security Standard `restricted` admits. */
const VOLUMES = [
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'persistentVolumeClaim',
  'projected',
  'secret',
];

/** Why a namespace that enforces the Pod Security Standard `restricted` would refuse a pod. */
export function restrictedFindings(pod: PodSpec): string[] {
  const ofPod = [
    ...(['hostNetwork', 'hostPID', 'hostIPC'] as const).filter((key) => pod[key] === true),
    ...(pod.volumes ?? []).flatMap(({ name, ...kinds }) =>
      Object.keys(kinds)
        .filter((kind) => !VOLUMES.includes(kind))
        .map((kind) => `volume ${name} is a ${kind}`),
    ),
  ];
  const ofContainers = containersOf(pod).flatMap(({ name, ports, securityContext = {} }) => {
    const { capabilities, privileged, allowPrivilegeEscalation } = securityContext;
    const { runAsNonRoot, runAsUser, seccompProfile } = { ...pod.securityContext, ...securityContext };
    const findings: [boolean, string][] = [
      [privileged === true, 'is privileged'],
      [allowPrivilegeEscalation !== false, 'may gain privileges'],
      [runAsNonRoot !== true, 'may run as root'],
      [runAsUser === 0, 'runs as root'],
      [!['RuntimeDefault', 'Localhost'].includes(seccompProfile?.type ?? ''), 'has no seccomp profile'],
      [capabilities?.drop?.includes('ALL') !== true, 'keeps capabilities'],
      [(capabilities?.add ?? []).some((one) => one !== 'NET_BIND_SERVICE'), 'adds capabilities'],
      [(ports ?? []).some(({ hostPort }) => hostPort !== undefined), 'has a port of the machine'],
    ];
    return findings.filter(([found]) => found).map(([, text]) => `container ${name} ${text}`);
  });
  return [...ofPod, ...ofContainers];
}
