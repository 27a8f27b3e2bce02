import { createHash } from 'node:crypto';
import type { ServiceRegistration, Timers } from '@waybill/model';
import { MAX_ALLOC_QUERY_WAIT_MS, namedServices, type Rpc } from '@waybill/rpc';
import { Gate, pause } from '../gate.js';
import type { TemplateSource } from './template-source.js';

/** A read that failed is repeated after this. */
export const SERVICE_READ_RETRY_MS = 2_000;

export interface ServiceSourceDependencies {
  readonly rpc: Rpc;
  readonly timers: Timers;
  readonly identity: () => { readonly ID: string; readonly SecretID: string };
  readonly allocId: string;
}

/** The services of the built-in provider by name: one read waits at the servers at all times, for each name. */
export function serviceSource({ rpc, timers, identity, allocId }: ServiceSourceDependencies): TemplateSource {
  async function follow(name: string, tell: (value: unknown) => void, signal: AbortSignal): Promise<void> {
    const over = new Gate();
    signal.addEventListener('abort', () => over.open(), { once: true });
    for (let index = 0; !signal.aborted;) {
      try {
        const { ID: NodeID, SecretID } = identity();
        const request = { NodeID, SecretID, AllocID: allocId, ServiceName: name, MinQueryIndex: index };
        const answer = await rpc.ask(namedServices, { ...request, MaxQueryTimeMs: MAX_ALLOC_QUERY_WAIT_MS });
        index = answer.Index;
        tell(answer.Services.map(shown));
      } catch {
        // Whatever it was, the servers will be back; until then the last answer holds.
        await pause(timers, SERVICE_READ_RETRY_MS, over);
      }
    }
  }
  return { watch: (name, tell, signal) => void follow(name, tell, signal) };
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
