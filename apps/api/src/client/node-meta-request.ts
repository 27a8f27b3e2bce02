import { wire } from '@waybill/model';
import { badRequest } from '../http/api-error.js';
import { readJsonBody } from '../http/body.js';

interface MetaBody {
  NodeID: string;
  Meta: Record<string, string | null> | null;
}

const NODE_META: wire.Shape<MetaBody> = {
  name: 'NodeMetaApplyRequest',
  fields: { NodeID: wire.string(), Meta: wire.map(wire.optional(wire.string())) },
};

/** Decodes changes of a node's metadata (AG-332). @throws Refusal invalid, DecodeError */
export function readMetaChanges(body: unknown): { NodeID: string; Meta: Record<string, string | null> } {
  const { NodeID, Meta } = wire.decodeShape(NODE_META, readJsonBody(body));
  if (!Meta || Object.keys(Meta).length === 0) throw badRequest('missing required Meta object');
  return { NodeID, Meta };
}
