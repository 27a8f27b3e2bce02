import {
  DEFAULT_NAMESPACE,
  formatErrors,
  isClientTerminal,
  type Job,
  namespaceHash,
  type NamespaceSpecification,
  Refusal,
} from '@waybill/model';
import type { Appliers } from '../machine/applier.js';
import type { TxnPayloads } from '../log/catalogue.js';
import { purgeJob } from '../jobs/job-purge.js';
import type { Txn } from '../log/txn.js';
import type { Write } from '../machine/write.js';

export const namespaceAppliers: Appliers<'NamespaceUpsert' | 'NamespaceDelete'> = {
  NamespaceUpsert: (w, { Namespaces }) => {
    for (const namespace of Namespaces) store(w, namespace);
  },
  NamespaceDelete: deleteNamespaces,
};

/**
 * Type 65: deletes namespaces, all or none. The state machine checks whether a namespace is in use, and not only the
 * proposer: a job may be registered between the check and the write (OP-180). Dead jobs are deleted with it (OP-183).
 * O(allocations of the cluster).
 */
function deleteNamespaces(w: Write, { Names }: TxnPayloads['NamespaceDelete'], txn: Txn<'NamespaceDelete'>): void {
  for (const name of Names) {
    if (name === DEFAULT_NAMESPACE) throw new Refusal('invalid', 'default namespace can not be deleted');
    if (!w.remove('namespaces', name)) throw new Refusal('not-found', 'namespace not found');
    const users = usersOf(w, name);
    if (users.length > 0)
      throw new Refusal(
        'conflict',
        formatErrors(users.map((user) => `namespace "${name}" has ${user} in regions: [${txn.region}]`)),
      );
    for (const job of jobsOf(w, name)) purgeJob(w, job);
  }
}

/** The objects in the namespace that prevent its deletion (OP-180). */
function usersOf(w: Write, namespace: string): string[] {
  const users: string[] = [];
  if (jobsOf(w, namespace).some((job) => job.Status !== 'dead')) users.push('non-terminal jobs');
  for (const alloc of w.tables.allocs.all()) {
    if (alloc.Namespace !== namespace || isClientTerminal(alloc)) continue;
    users.push('non-terminal allocations');
    break;
  }
  if (w.tables.csi_volumes.count('namespace', namespace) + w.tables.host_volumes.count('namespace', namespace) > 0)
    users.push('volumes associated with it');
  if (w.tables.variables.count('namespace', namespace) > 0) users.push('variables associated with it');
  return users;
}

/** The namespace's jobs in the order of their IDs, which is the same in every copy. */
const jobsOf = ({ tables }: Write, namespace: string): Job[] =>
  [...tables.jobs.by('namespace', namespace)].toSorted((a, b) => (a.ID < b.ID ? -1 : 1));

/** Creates a namespace that has only a name and a description. */
export function createNamespace(w: Write, Name: string, Description: string): void {
  store(w, {
    Name,
    Description,
    Quota: '',
    Capabilities: null,
    NodePoolConfiguration: null,
    VaultConfiguration: null,
    ConsulConfiguration: null,
    Meta: null,
    RequiredExtraClaims: null,
    OptionalExtraClaims: null,
  });
}

function store(w: Write, said: NamespaceSpecification): void {
  const CreateIndex = w.tables.namespaces.get(said.Name)?.CreateIndex ?? w.index;
  w.put('namespaces', { ...said, Hash: namespaceHash(said), CreateIndex, ModifyIndex: w.index });
}
