import { asNode, type TransactionWriter } from '@waybill/writing';
import { type Allocation, type Node, registrationPrefix, Refusal, isRefusal } from '@waybill/model';
import type { ReplicatedState } from '@waybill/replica';
import type {
  DeregisterServicesRequest,
  IndexResponse,
  RegisteredService,
  RegisterServicesRequest,
} from '@waybill/rpc';
import { checkRegistrationIds, checkServices } from '../node/machine-shapes.js';
import { permissionDenied, provenNode } from '../node/node-access.js';

/** Services in one call; keeps a transaction well below the log's largest message (ST-14). */
export const MAX_SERVICES_PER_CALL = 500;

/**
 * Writes agents' registrations of the services of their own allocations to the log (AG-140 to AG-142). Any replica
 * answers; stateless. The stored allocation decides what a registration belongs to, never the agent.
 */
export class ServiceRegistrations {
  constructor(
    private readonly state: ReplicatedState,
    private readonly writer: TransactionWriter,
  ) {}

  /** @throws Refusal forbidden (ND-39), not-found, invalid */
  async register(request: RegisterServicesRequest, traceparent?: string): Promise<IndexResponse> {
    const { Services } = request;
    checkServices(Services);
    const node = this.admit(request, Services);
    const alloc = this.state.tables.allocs.get(request.AllocID);
    if (!alloc) throw new Refusal('not-found', 'alloc not found');
    const registrations = Services.map((service) => registrationOf(service, alloc, node));
    const decision = { type: 'ServiceRegistrationUpsert', payload: { Services: registrations } } as const;
    const { index } = await this.writer.write(decision, asNode(node, traceparent));
    return { Index: index };
  }

  /** Deletes registrations; a missing one counts as deleted (AG-142). @throws Refusal forbidden (ND-39), invalid */
  async deregister(request: DeregisterServicesRequest, traceparent?: string): Promise<IndexResponse> {
    checkRegistrationIds(request.IDs);
    const node = this.admit(
      request,
      request.IDs.map((ID) => ({ ID })),
    );
    const alloc = this.state.tables.allocs.get(request.AllocID);
    let Index = 0;
    if (!alloc) return { Index }; // its registrations were deleted with it (ST-96)
    for (const ID of request.IDs) {
      const decision = { type: 'ServiceRegistrationDeleteByID', payload: { Namespace: alloc.Namespace, ID } } as const;
      const written = this.writer.write(decision, asNode(node, traceparent)).then(({ index }) => index);
      Index = await written.catch((error: unknown) => unlessMissing(error, Index));
    }
    return { Index };
  }

  private admit(
    request: { readonly NodeID: string; readonly SecretID: string; readonly AllocID: string },
    services: readonly { readonly ID: string }[],
  ): Node {
    const node = provenNode(this.state.tables, request.NodeID, request.SecretID);
    if (services.length === 0) throw new Refusal('invalid', 'no services given');
    if (services.length > MAX_SERVICES_PER_CALL) throw new Refusal('invalid', 'too many services in one call');
    const alloc = this.state.tables.allocs.get(request.AllocID);
    if (alloc && alloc.NodeID !== node.ID) throw permissionDenied();
    const prefix = registrationPrefix(request.AllocID);
    if (services.some(({ ID }) => !ID.startsWith(prefix))) throw permissionDenied();
    return node;
  }
}

/** Accepts the refusal to delete a missing registration. @throws any other error */
function unlessMissing<T>(error: unknown, otherwise: T): T {
  if (isRefusal(error, 'not-found')) return otherwise;
  throw error;
}

function registrationOf({ ID, ServiceName, Tags, Address, Port }: RegisteredService, alloc: Allocation, node: Node) {
  return {
    ID,
    ServiceName,
    Namespace: alloc.Namespace,
    NodeID: node.ID,
    Datacenter: node.Datacenter,
    JobID: alloc.JobID,
    AllocID: alloc.ID,
    Tags,
    Address,
    Port,
    CreateIndex: 0,
    ModifyIndex: 0,
  };
}
