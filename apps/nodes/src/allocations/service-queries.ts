import { isDeepStrictEqual } from 'node:util';
import { type ServiceRegistration, type Timers, Refusal } from '@waybill/model';
import type { ReplicatedState } from '@waybill/replica';
import {
  MAX_WAITING_SERVICE_QUERIES,
  type NamedServicesRequest,
  type NamedServicesResponse,
  type ServiceNamesRequest,
  type ServiceNamesResponse,
} from '@waybill/rpc';
import { type Applied, compareText, namespacedKey } from '@waybill/state';
import { WaitingReads } from '../waiting/waiting-reads.js';
import { permissionDenied, provenNode } from '../node/node-access.js';

/**
 * Reads of services by the templates of an allocation (AG-292): those of its own namespace only. Any replica answers. A
 * read waits in the list of its service, or of the service names of its namespace, and is woken by a transaction that
 * changed them. Cost of a transaction: O(rows that it changed); of an answer: O(registrations of the name, or of the
 * namespace). Limits: MAX_WAITING_SERVICE_QUERIES, MAX_ALLOC_QUERY_WAIT_MS.
 */
export class ServiceQueries {
  private readonly waiting: WaitingReads;
  private readonly unsubscribe: () => void;

  constructor(
    private readonly state: ReplicatedState,
    timers: Timers,
  ) {
    this.waiting = new WaitingReads(timers, MAX_WAITING_SERVICE_QUERIES, 'services');
    this.unsubscribe = state.onApplied((applied) => this.applied(applied));
  }

  /** Answers every waiting read with the current state. */
  stop(): void {
    this.unsubscribe();
    this.waiting.close();
  }

  /** @throws Refusal forbidden, not-found, limit */
  async named(request: NamedServicesRequest): Promise<NamedServicesResponse> {
    const key = namespacedKey(this.namespaceOf(request), request.ServiceName);
    await this.news(key, request);
    const services = [...this.table.by('name', key)].toSorted((a, b) => compareText(a.ID, b.ID));
    return { Services: services, Index: this.index };
  }

  /** The services of the namespace by name. @throws Refusal forbidden, not-found, limit */
  async names(request: ServiceNamesRequest): Promise<ServiceNamesResponse> {
    const namespace = this.namespaceOf(request);
    await this.news(namesKey(namespace), request);
    const tags = new Map<string, Set<string>>();
    for (const { ServiceName, Tags } of this.table.by('namespace', namespace)) {
      const ofName = tags.get(ServiceName) ?? new Set();
      tags.set(ServiceName, ofName);
      for (const tag of Tags ?? []) ofName.add(tag);
    }
    const services = [...tags].map(([Name, ofName]) => ({ Name, Tags: [...ofName].toSorted() }));
    return { Services: services.toSorted((a, b) => compareText(a.Name, b.Name)), Index: this.index };
  }

  private get table() {
    return this.state.tables.service_registrations;
  }

  private get index(): number {
    return Math.max(this.table.tableIndex, 1);
  }

  /** @throws Refusal forbidden, not-found */
  private namespaceOf({ NodeID, SecretID, AllocID }: ServiceNamesRequest): string {
    const { tables } = this.state;
    const node = provenNode(tables, NodeID, SecretID);
    const alloc = tables.allocs.get(AllocID);
    if (!alloc) throw new Refusal('not-found', 'alloc not found');
    if (alloc.NodeID !== node.ID) throw permissionDenied();
    return alloc.Namespace;
  }

  /** Waits as the reader requests, unless the state is newer than its index. @throws Refusal limit */
  private async news(key: string, { MinQueryIndex, MaxQueryTimeMs }: ServiceNamesRequest): Promise<void> {
    if (this.index <= MinQueryIndex) await this.waiting.waitForChange(key, MaxQueryTimeMs);
  }

  private applied({ changes }: Applied): void {
    for (const change of changes) {
      if (change.table !== 'service_registrations') continue;
      const service = change.after ?? change.before;
      if (!service) continue;
      this.waiting.wakeReadsOf(namespacedKey(service.Namespace, service.ServiceName));
      if (!this.waiting.isEmpty && this.isOwnInName(service, change.before))
        this.waiting.wakeReadsOf(namesKey(service.Namespace));
    }
  }

  /**
   * Whether the registration changes the list of names and their tags. A rollout changes thousands of registrations that do
   * not, because others of the same name have the same tags. O(1).
   */
  private isOwnInName(
    { ID, Namespace, ServiceName, Tags }: ServiceRegistration,
    before?: ServiceRegistration,
  ): boolean {
    if (before && !isDeepStrictEqual(before.Tags, Tags)) return true;
    for (const other of this.table.by('name', namespacedKey(Namespace, ServiceName)))
      if (other.ID !== ID) return !isDeepStrictEqual(other.Tags, Tags);
    return true;
  }
}

/** Key of reads of all names: no service has this name. */
const namesKey = (namespace: string): string => namespacedKey(namespace, '');
