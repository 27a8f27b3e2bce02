import { deregisterServices, type RegisteredService, registerServices, type Rpc } from '@waybill/rpc';

/** ServiceRegistry registers an allocation's services. */
export interface ServiceRegistry {
  register(allocId: string, services: readonly RegisteredService[]): Promise<void>;
  /** Removes registrations. A missing one is a success (AG-142). */
  deregister(allocId: string, ids: readonly string[]): Promise<void>;
}

/** Returns the servers' registry. Requests carry the machine's own identity. */
export function serversRegistry(
  rpc: Rpc,
  identity: () => { readonly ID: string; readonly SecretID: string },
): ServiceRegistry {
  const withIdentity = (AllocID: string) => {
    const { ID: NodeID, SecretID } = identity();
    return { NodeID, SecretID, AllocID };
  };
  return {
    register: async (allocId, Services) =>
      void (await rpc.ask(registerServices, { ...withIdentity(allocId), Services })),
    deregister: async (allocId, IDs) => void (await rpc.ask(deregisterServices, { ...withIdentity(allocId), IDs })),
  };
}
