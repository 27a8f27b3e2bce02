import type { Allocation, Job, Node, Task } from '@waybill/model';

/** The owner of an identity, as far as the texts of extra claims may name it. */
export interface ClaimSubject {
  readonly alloc: Pick<Allocation, 'ID' | 'TaskGroup'>;
  readonly job: Job;
  readonly node: Node;
  /** Absent: the identity is a service's. */
  readonly task?: Task | undefined;
}

const REFERENCE = /\$\{([^${}]*)\}/g;
const META = 'job.meta.';

/**
 * Replaces the names in the text of an extra claim, once: the replacement text is not searched again (AU-134). An
 * unknown name stays as it is written, a known one without a value becomes empty.
 */
export function extraClaimText(text: string, subject: ClaimSubject): string {
  const known = namesOf(subject);
  return text.replaceAll(REFERENCE, (whole, name: string) => {
    if (name.startsWith(META)) return ownValue(subject.job.Meta, name.slice(META.length)) ?? whole;
    return known.get(name) ?? whole;
  });
}

const namesOf = ({ alloc, job, node, task }: ClaimSubject): ReadonlyMap<string, string> =>
  new Map([
    ['job.region', job.Region],
    ['job.namespace', job.Namespace],
    ['job.id', job.ParentID || job.ID],
    ['job.node_pool', job.NodePool],
    ['group.name', alloc.TaskGroup],
    ['alloc.id', alloc.ID],
    ['node.id', node.ID],
    ['node.datacenter', node.Datacenter],
    ['node.pool', node.NodePool],
    ['node.class', node.NodeClass],
    ['task.name', task?.Name ?? ''],
    ['vault.cluster', task?.Vault?.Cluster ?? ''],
    ['vault.namespace', task?.Vault?.Namespace ?? ''],
    ['vault.role', task?.Vault?.Role ?? ''],
  ]);

const ownValue = (values: Readonly<Record<string, string>> | null, key: string): string | undefined =>
  values && Object.hasOwn(values, key) ? values[key] : undefined;
