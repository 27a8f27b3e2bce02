import { call } from './call.js';
import { needsNodeRead, needsNodeWrite } from './user-needs.js';

/** The claims of the identity that a machine holds, without its signature. */
export interface NodeIdentityResponse {
  readonly Claims: Readonly<Record<string, unknown>>;
}

/** Goes to one machine: the target is the node's ID. */
export const readNodeIdentity = call<Record<string, never>, NodeIdentityResponse>('agent.readNodeIdentity', {
  userNeeds: needsNodeRead,
});

/** Makes the machine ask for a new identity with its next heartbeat (AU-199). */
export const renewNodeIdentity = call<Record<string, never>, null>('agent.renewNodeIdentity', {
  userNeeds: needsNodeWrite,
});
