import { wire } from '@waybill/model';
import type { NodeDrainRequest } from '@waybill/rpc';
import { readJsonBody } from '../http/body.js';

type DrainSpec = NonNullable<NodeDrainRequest['DrainSpec']>;
type DrainBody = Pick<NodeDrainRequest, 'DrainSpec' | 'MarkEligible' | 'Meta' | 'NodeEvent'>;

const DRAIN_SPEC: wire.Shape<DrainSpec> = {
  name: 'DrainSpec',
  fields: { Deadline: wire.duration(), IgnoreSystemJobs: wire.boolean() },
};

const DRAIN: wire.Shape<DrainBody> = {
  name: 'NodeUpdateDrainRequest',
  fields: {
    DrainSpec: wire.object(DRAIN_SPEC),
    MarkEligible: wire.boolean(),
    Meta: wire.map(wire.string()),
    NodeEvent: wire.raw(),
  },
};

interface EligibilityBody {
  NodeID: string;
  Eligibility: string;
}

const ELIGIBILITY: wire.Shape<EligibilityBody> = {
  name: 'NodeUpdateEligibilityRequest',
  fields: { NodeID: wire.string(), Eligibility: wire.string() },
};

/** Decodes a change of a node's drain (ND-15); the path names the node. @throws Refusal invalid, DecodeError */
export const readDrain = (body: unknown): DrainBody => wire.decodeShape(DRAIN, readJsonBody(body));

/** Decodes a change of a node's eligibility (ND-16). @throws Refusal invalid, DecodeError */
export const readEligibility = (body: unknown): EligibilityBody => wire.decodeShape(ELIGIBILITY, readJsonBody(body));
