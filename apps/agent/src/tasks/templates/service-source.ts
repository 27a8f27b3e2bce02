import { createHash } from 'node:crypto';
import type { ServiceRegistration, Timers } from '@waybill/model';
import { MAX_ALLOC_QUERY_WAIT_MS, namedServices, type Rpc, serviceNames, type ServiceNamesRequest } from '@waybill/rpc';
import { pause } from '../../waiting/gate.js';
import type { TemplateSource, TemplateSources } from './template-source.js';

/** A read that failed is repeated after this. */
export const SERVICE_READ_RETRY_MS = 2_000;

export interface ServiceReadsDependencies {
  readonly rpc: Rpc;
  readonly timers: Timers;
  readonly identity: () => { readonly ID: string; readonly SecretID: string };
}

/** What is read at the servers, and what of the answer templates get. */
type Ask = (at: ServiceNamesRequest) => Promise<{ readonly index: number; readonly value: unknown }>;

interface Read {
  readonly watchers: Set<(value: unknown) => void>;
  /** The last answer; undefined: none yet. */
  last: Awaited<ReturnType<Ask>> | undefined;
}

/**
 * What the templates of this machine read of services of the built-in provider. For each allocation and question one read
 * waits at the servers as long as somebody watches it, and is taken over by whoever begins while it waits: a task that is
 * started again and again leaves none behind. Memory: the last answer to each.
 */
export class ServiceReads {
  private readonly reads = new Map<string, Read>();

  constructor(private readonly deps: ServiceReadsDependencies) {}

  /** What an allocation may see. */
  of(allocId: string): Pick<TemplateSources, 'service' | 'services'> {
    const source = (ask: (name: string) => Ask, kind: string): TemplateSource => ({
      watch: (name, tell, signal) => this.watch(allocId, `${allocId}\n${kind}\n${name}`, ask(name), tell, signal),
    });
    return { service: source(this.named, 'service'), services: source(() => this.names, 'services') };
  }

  private readonly named =
    (ServiceName: string): Ask =>
    async (at) => {
      const { Services, Index } = await this.deps.rpc.ask(namedServices, { ...at, ServiceName });
      return { index: Index, value: Services.map(shown) };
    };

  private readonly names: Ask = async (at) => {
    const { Services, Index } = await this.deps.rpc.ask(serviceNames, at);
    return { index: Index, value: Services };
  };

  private watch(allocId: string, key: string, ask: Ask, tell: (value: unknown) => void, signal: AbortSignal): void {
    if (signal.aborted) return;
    const waiting = this.reads.get(key);
    const read = waiting ?? { watchers: new Set(), last: undefined };
    read.watchers.add(tell);
    signal.addEventListener('abort', () => read.watchers.delete(tell), { once: true });
    if (read.last) tell(read.last.value);
    if (waiting) return;
    this.reads.set(key, read);
    void this.follow(allocId, ask, read).finally(() => this.reads.delete(key));
  }

  private async follow(AllocID: string, ask: Ask, read: Read): Promise<void> {
    const { timers, identity } = this.deps;
    while (read.watchers.size > 0) {
      try {
        const { ID: NodeID, SecretID } = identity();
        const MinQueryIndex = read.last?.index ?? 0;
        const answer = await ask({ NodeID, SecretID, AllocID, MinQueryIndex, MaxQueryTimeMs: MAX_ALLOC_QUERY_WAIT_MS });
        read.last = answer;
        for (const tell of read.watchers) tell(answer.value);
      } catch {
        // Whatever it was, the servers will be back; until then the last answer holds.
        await pause(timers, SERVICE_READ_RETRY_MS);
      }
    }
  }
}

/** A service as templates see it. */
const shown = (service: ServiceRegistration) => ({
  ID: service.ID,
  Name: service.ServiceName,
  Node: service.NodeID,
  Datacenter: service.Datacenter,
  Namespace: service.Namespace,
  JobID: service.JobID,
  AllocID: service.AllocID,
  Address: service.Address,
  Port: service.Port,
  Tags: service.Tags ?? [],
});

/** `count` of them, for the same key always the same as long as they are there (rendezvous hashing). */
export function chosenServices(services: readonly { readonly ID: string }[], count: number, key: string) {
  const weight = (id: string): string => createHash('sha256').update(`${key}\n${id}`).digest('hex');
  return services
    .map((service) => ({ service, weight: weight(service.ID) }))
    .toSorted((a, b) => (a.weight < b.weight ? -1 : 1))
    .slice(0, Math.max(0, count))
    .map(({ service }) => service);
}
