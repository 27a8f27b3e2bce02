import { call } from './call.js';

/** Metadata of one machine: what counts, what was set while it ran (null: taken away), what it was configured with. */
export interface NodeMetaResponse {
  readonly Meta: Readonly<Record<string, string>>;
  readonly Dynamic: Readonly<Record<string, string | null>>;
  readonly Static: Readonly<Record<string, string>>;
}

export interface ApplyNodeMetaRequest {
  /** Over what there is; null takes a key away. */
  readonly Meta: Readonly<Record<string, string | null>>;
}

/** To one machine: the target is the node's id. */
export const readNodeMeta = call<Record<string, never>, NodeMetaResponse>('agent.readNodeMeta');

/** Answered when the change is on the machine's disk; the servers hear of it right after. */
export const applyNodeMeta = call<ApplyNodeMetaRequest, NodeMetaResponse>('agent.applyNodeMeta');
