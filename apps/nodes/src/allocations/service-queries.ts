import type { ServiceRegistration, Timers } from '@waybill/model';
import type { ReplicatedState } from '@waybill/replica';
import {
  MAX_ALLOC_QUERY_WAIT_MS,
  MAX_WAITING_SERVICE_QUERIES,
  type NamedServicesRequest,
  type NamedServicesResponse,
  RpcError,
} from '@waybill/rpc';
import type { Applied } from '@waybill/state';
import { permissionDenied, provenNode } from '../node/node-access.js';

/**
 * What the templates of an allocation read of services (AG-292): those of its own namespace, and no others. Any replica
 * answers. A read waits in a list of its service and is woken by a transaction that changed one of that name, so the
 * cost of a transaction is what it changed. A first look costs O(registrations). Limits: MAX_WAITING_SERVICE_QUERIES,
 * MAX_ALLOC_QUERY_WAIT_MS.
 */
export class ServiceQueries {
  private readonly waiting = new Map<string, Set<() => void>>();
  private waitingReads = 0;
  private stopped = false;
  private readonly unsubscribe: () => void;

  constructor(
    private readonly state: ReplicatedState,
    private readonly timers: Timers,
  ) {
    this.unsubscribe = state.onApplied((applied) => this.applied(applied));
  }

  /** Answers every waiting read with what there is. */
  stop(): void {
    this.unsubscribe();
    this.stopped = true;
    for (const key of this.waiting.keys()) this.wake(key);
  }

  /** @throws RpcError forbidden, not-found, limit */
  async named(request: NamedServicesRequest): Promise<NamedServicesResponse> {
    const { tables } = this.state;
    const node = provenNode(tables, request.NodeID, request.SecretID);
    const alloc = tables.allocs.get(request.AllocID);
    if (!alloc) throw new RpcError('not-found', 'alloc not found');
    if (alloc.NodeID !== node.ID) throw permissionDenied();
    const answer = this.answer(alloc.Namespace, request.ServiceName);
    if (this.stopped || answer.Index > request.MinQueryIndex) return answer;
    await this.change(keyOf(alloc.Namespace, request.ServiceName), request.MaxQueryTimeMs);
    return this.answer(alloc.Namespace, request.ServiceName);
  }

  private answer(namespace: string, name: string): NamedServicesResponse {
    const { service_registrations: table } = this.state.tables;
    const services: ServiceRegistration[] = [];
    for (const service of table.all())
      if (service.Namespace === namespace && service.ServiceName === name) services.push(service);
    services.sort((a, b) => (a.ID < b.ID ? -1 : 1));
    return { Services: services, Index: Math.max(table.tableIndex, 1) };
  }

  private async change(key: string, maxMs: number): Promise<void> {
    const waitMs = Math.min(Math.max(maxMs, 0), MAX_ALLOC_QUERY_WAIT_MS);
    if (waitMs === 0) return;
    if (this.waitingReads >= MAX_WAITING_SERVICE_QUERIES)
      throw new RpcError('limit', 'too many reads of services are waiting');
    await new Promise<void>((resolve) => {
      const reads = this.waiting.get(key) ?? new Set();
      this.waiting.set(key, reads);
      const done = (): void => {
        cancel();
        this.waitingReads--;
        reads.delete(done);
        if (reads.size === 0) this.waiting.delete(key);
        resolve();
      };
      const cancel = this.timers.after(waitMs, done);
      reads.add(done);
      this.waitingReads++;
    });
  }

  private applied({ changes }: Applied): void {
    for (const change of changes) {
      if (change.table !== 'service_registrations') continue;
      const service = change.after ?? change.before;
      if (service) this.wake(keyOf(service.Namespace, service.ServiceName));
    }
  }

  private wake(key: string): void {
    for (const done of this.waiting.get(key) ?? []) done();
  }
}

const keyOf = (namespace: string, name: string): string => `${namespace}\n${name}`;
