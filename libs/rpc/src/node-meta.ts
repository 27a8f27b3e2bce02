import { call } from './call.js';
import { needsNodeRead, needsNodeWrite } from './user-needs.js';

/**
 * Metadata of one machine: the effective entries, the entries changed at run time (null for a removed one), and the
 * configured ones.
 */
export interface NodeMetaResponse {
  readonly Meta: Readonly<Record<string, string>>;
  readonly Dynamic: Readonly<Record<string, string | null>>;
  readonly Static: Readonly<Record<string, string>>;
}

export interface ApplyNodeMetaRequest {
  /** Merged over the present metadata. Null removes a key. */
  readonly Meta: Readonly<Record<string, string | null>>;
}

/** Goes to one machine: the target is the node's ID. */
export const readNodeMeta = call<Record<string, never>, NodeMetaResponse>('agent.readNodeMeta', {
  userNeeds: needsNodeRead,
});

/** Returns when the change is on the machine's disk. The machine reports it to the servers right after. */
export const applyNodeMeta = call<ApplyNodeMetaRequest, NodeMetaResponse>('agent.applyNodeMeta', {
  userNeeds: needsNodeWrite,
});
