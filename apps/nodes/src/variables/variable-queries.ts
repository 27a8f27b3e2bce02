import { type Acl, AclCache, policiesOfWorkload, type Workload } from '@waybill/acl';
import type { Keyring } from '@waybill/keyring';
import { type Allocation, findTaskGroup, Refusal, type Timers } from '@waybill/model';
import type { ReplicatedState } from '@waybill/replica';
import {
  type ListVariablesRequest,
  type ListVariablesResponse,
  MAX_LISTED_VARIABLES,
  MAX_WAITING_VARIABLE_QUERIES,
  type ReadVariableRequest,
  type ReadVariableResponse,
  type TaskVariablesRequest,
} from '@waybill/rpc';
import { type Applied, namespacedKey } from '@waybill/state';
import { permissionDenied, provenNode } from '../node/node-access.js';
import { jobOf } from '../node/node-evaluations.js';
import { WaitingReads } from '../waiting/waiting-reads.js';

/** The task that reads, and its rights. */
interface Asker {
  readonly workload: Workload;
  readonly acl: Acl;
}

/**
 * Reads of variables by the templates of a task (AG-292), with the rights of the task's identity: its own paths and
 * those of the policies that name its workload (OP-137, OP-138). The rights are the same while access control is off,
 * so turning it on takes nothing from a running job.
 *
 * Any replica answers. A read waits in the list of its variable, or of the namespace, and is woken by a transaction
 * that changed it. A change of a policy wakes all reads, O(waiting), because it may change what each of them may see.
 * Cost of an answer: O(policies of the cluster), and decrypting the items, or O(variables of the namespace). Limits:
 * MAX_WAITING_VARIABLE_QUERIES, MAX_LISTED_VARIABLES.
 */
export class VariableQueries {
  private readonly waiting: WaitingReads;
  private readonly acls = new AclCache();
  private readonly unsubscribe: () => void;

  constructor(
    private readonly state: ReplicatedState,
    private readonly keyring: Pick<Keyring, 'openItems'>,
    timers: Timers,
  ) {
    this.waiting = new WaitingReads(timers, MAX_WAITING_VARIABLE_QUERIES, 'variables');
    this.unsubscribe = state.onApplied((applied) => this.applied(applied));
  }

  /** Answers every waiting read with the current state. */
  stop(): void {
    this.unsubscribe();
    this.waiting.close();
  }

  /** @throws Refusal forbidden if it is no task of the machine; not-found, limit; KeyringError */
  async readVariable(request: ReadVariableRequest): Promise<ReadVariableResponse> {
    const Namespace = this.namespaceOf(request);
    const { Path } = request;
    await this.news(namespacedKey(Namespace, Path), request);
    const { acl, workload } = this.askerOf(request);
    const Index = this.index;
    if (!acl.allowsVariable(Namespace, Path, 'read', workload)) return { Items: null, IsDenied: true, Index };
    const stored = this.state.tables.variables.get(namespacedKey(Namespace, Path));
    const Items = stored ? await this.keyring.openItems({ Namespace, Path }, stored) : null;
    return { Items, IsDenied: false, Index };
  }

  /** The variables that the task may list, by path. @throws Refusal as `readVariable`, and limit if there are too many */
  async list(request: ListVariablesRequest): Promise<ListVariablesResponse> {
    const namespace = this.namespaceOf(request);
    await this.news(listKey(namespace), request);
    const { acl, workload } = this.askerOf(request);
    const Index = this.index;
    const paths: string[] = [];
    for (const { Path } of this.state.tables.variables.by('namespace', namespace))
      if (Path.startsWith(request.Prefix) && acl.allowsVariable(namespace, Path, 'list', workload)) paths.push(Path);
    if (paths.length > MAX_LISTED_VARIABLES)
      throw new Refusal('limit', `more than ${MAX_LISTED_VARIABLES} variables begin with "${request.Prefix}"`);
    return { Namespace: namespace, Paths: paths.toSorted(), Index };
  }

  private get index(): number {
    const { variables, acl_policy: policies } = this.state.tables;
    return Math.max(variables.tableIndex, policies.tableIndex, 1);
  }

  private async news(key: string, { MinQueryIndex, MaxQueryTimeMs }: TaskVariablesRequest): Promise<void> {
    if (this.index <= MinQueryIndex) await this.waiting.waitForChange(key, MaxQueryTimeMs);
  }

  private namespaceOf(request: TaskVariablesRequest): string {
    return request.Namespace || this.allocOf(request).Namespace;
  }

  /** @throws Refusal forbidden, not-found */
  private allocOf({ NodeID, SecretID, AllocID }: TaskVariablesRequest): Allocation {
    const { tables } = this.state;
    const node = provenNode(tables, NodeID, SecretID);
    const alloc = tables.allocs.get(AllocID);
    if (!alloc) throw new Refusal('not-found', 'alloc not found');
    if (alloc.NodeID !== node.ID) throw permissionDenied();
    return alloc;
  }

  /** The reading task with its current rights, which may change during a wait. @throws Refusal forbidden, not-found */
  private askerOf(request: TaskVariablesRequest): Asker {
    const alloc = this.allocOf(request);
    const job = jobOf(this.state.tables, alloc);
    const task = job && findTaskGroup(job, alloc.TaskGroup)?.Tasks.find(({ Name }) => Name === request.Task);
    if (!job || !task) throw permissionDenied();
    const workload = {
      namespace: alloc.Namespace,
      jobId: job.ParentID || job.ID,
      group: alloc.TaskGroup,
      task: task.Name,
    };
    const policies = policiesOfWorkload([...this.state.tables.acl_policy.all()], workload);
    const sources = policies.map(({ Name, ModifyIndex, Rules }) => ({
      name: Name,
      modifyIndex: ModifyIndex,
      rules: Rules,
    }));
    return { workload, acl: this.acls.get(sources) };
  }

  private applied({ changes }: Applied): void {
    for (const change of changes) {
      if (change.table === 'acl_policy') return this.waiting.wakeAll();
      if (change.table !== 'variables') continue;
      this.waiting.wakeReadsOf(change.key);
      const variable = change.after ?? change.before;
      // A list contains paths only, so a write of an existing variable changes no list.
      if (variable && !(change.before && change.after)) this.waiting.wakeReadsOf(listKey(variable.Namespace));
    }
  }
}

/** Key of reads of a list: no variable has this path. */
const listKey = (namespace: string): string => namespacedKey(namespace, '');
