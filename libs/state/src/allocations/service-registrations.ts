import { isClientTerminal, type ServiceRegistration, Refusal } from '@waybill/model';
import type { Appliers } from '../machine/applier.js';
import { dropRegistrations } from './alloc-services.js';
import type { TxnPayloads } from '../log/catalogue.js';
import { namespacedKey } from '../machine/tables.js';
import type { Write } from '../machine/write.js';

export const serviceAppliers: Appliers<
  'ServiceRegistrationUpsert' | 'ServiceRegistrationDeleteByID' | 'ServiceRegistrationDeleteByNodeID'
> = {
  ServiceRegistrationUpsert: upsertRegistrations,
  ServiceRegistrationDeleteByID: deleteRegistration,
  ServiceRegistrationDeleteByNodeID: (w, { NodeID }) =>
    dropRegistrations(w, w.tables.service_registrations.by('node', NodeID)),
};

/**
 * Type 47: stores service registrations. An unchanged one is not written. One that arrives after its allocation ended
 * or was deleted is left out, because the removal of registrations (ST-107) is over.
 */
function upsertRegistrations(w: Write, { Services }: TxnPayloads['ServiceRegistrationUpsert']): void {
  for (const said of Services) {
    const alloc = w.tables.allocs.get(said.AllocID);
    if (!alloc || isClientTerminal(alloc)) continue;
    const stored = w.tables.service_registrations.get(namespacedKey(said.Namespace, said.ID));
    if (stored && isSame(stored, said)) continue;
    w.put('service_registrations', { ...said, CreateIndex: stored?.CreateIndex ?? w.index, ModifyIndex: w.index });
  }
}

/** Type 48: deletes a service registration. */
function deleteRegistration(w: Write, { Namespace, ID }: TxnPayloads['ServiceRegistrationDeleteByID']): void {
  if (!w.remove('service_registrations', namespacedKey(Namespace, ID)))
    throw new Refusal('not-found', 'service registration not found');
}

function isSame(a: ServiceRegistration, b: ServiceRegistration): boolean {
  return (
    a.ServiceName === b.ServiceName &&
    a.NodeID === b.NodeID &&
    a.Datacenter === b.Datacenter &&
    a.JobID === b.JobID &&
    a.AllocID === b.AllocID &&
    a.Address === b.Address &&
    a.Port === b.Port &&
    JSON.stringify(a.Tags) === JSON.stringify(b.Tags)
  );
}
