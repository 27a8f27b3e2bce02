import { type Allocation, type Clock, type Node, nsFromMs, registrationPrefix } from '@waybill/model';
import type { ReplicatedState } from '@waybill/replica';
import {
  type DeregisterServicesRequest,
  type IndexResponse,
  type RegisteredService,
  type RegisterServicesRequest,
  RpcError,
} from '@waybill/rpc';
import { draftTxn, isRejected, type Proposed, type TxnPayloads, type TxnType } from '@waybill/state';
import { checkServices } from '../node/machine-shapes.js';
import { permissionDenied, provenNode } from '../node/node-access.js';

/** In one call; keeps a transaction well below the log's largest message (ST-14). */
export const MAX_SERVICES_PER_CALL = 500;

/**
 * Takes what an agent says about the services of its own allocations into the log (AG-140 to AG-142). Any replica
 * answers; stateless. Whose a registration is comes from the stored allocation, never from the agent.
 */
export class ServiceRegistrations {
  constructor(
    private readonly state: ReplicatedState,
    private readonly clock: Clock,
    private readonly newId: () => string,
  ) {}

  /** @throws RpcError forbidden (ND-39), not-found, invalid */
  async register(request: RegisterServicesRequest, traceparent?: string): Promise<IndexResponse> {
    const { Services } = request;
    const node = this.admit(request, Services);
    checkServices(Services);
    const alloc = this.state.tables.allocs.get(request.AllocID);
    if (!alloc) throw new RpcError('not-found', 'alloc not found');
    const registrations = Services.map((service) => registrationOf(service, alloc, node));
    const draft = { Services: registrations };
    const { verdict, index } = await this.propose('ServiceRegistrationUpsert', draft, node, traceparent);
    if (isRejected(verdict)) throw new RpcError('conflict', verdict.error);
    return { Index: index };
  }

  /** One that is not there any more is a success (AG-142). @throws RpcError forbidden (ND-39), invalid */
  async deregister(request: DeregisterServicesRequest, traceparent?: string): Promise<IndexResponse> {
    const node = this.admit(
      request,
      request.IDs.map((ID) => ({ ID })),
    );
    const alloc = this.state.tables.allocs.get(request.AllocID);
    let Index = 0;
    if (!alloc) return { Index }; // its registrations went with it (ST-96)
    for (const ID of request.IDs) {
      const payload = { Namespace: alloc.Namespace, ID };
      Index = (await this.propose('ServiceRegistrationDeleteByID', payload, node, traceparent)).index;
    }
    return { Index };
  }

  private admit(
    request: { readonly NodeID: string; readonly SecretID: string; readonly AllocID: string },
    services: readonly { readonly ID: string }[],
  ): Node {
    const node = provenNode(this.state.tables, request.NodeID, request.SecretID);
    if (services.length === 0) throw new RpcError('invalid', 'no services given');
    if (services.length > MAX_SERVICES_PER_CALL) throw new RpcError('invalid', 'too many services in one call');
    const alloc = this.state.tables.allocs.get(request.AllocID);
    if (alloc && alloc.NodeID !== node.ID) throw permissionDenied();
    const prefix = registrationPrefix(request.AllocID);
    if (services.some(({ ID }) => !ID.startsWith(prefix))) throw permissionDenied();
    return node;
  }

  private propose<T extends TxnType>(
    type: T,
    payload: TxnPayloads[T],
    node: Node,
    traceparent: string | undefined,
  ): Promise<Proposed> {
    return this.state.propose(
      draftTxn(type, payload, {
        timeNs: nsFromMs(this.clock.nowMs()),
        requestId: this.newId(),
        actor: { Kind: 'node', ID: node.ID, Name: node.Name },
        traceparent,
      }),
    );
  }
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
