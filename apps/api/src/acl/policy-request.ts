import type { AclPolicySpecification, JobAcl } from '@waybill/model';
import { wire } from '@waybill/model';
import { readJsonBody } from '../http/body.js';

const JOB_ACL: wire.Shape<JobAcl> = {
  name: 'JobACL',
  fields: { Namespace: wire.string(), JobID: wire.string(), Group: wire.string(), Task: wire.string() },
};

const POLICY: wire.Shape<AclPolicySpecification> = {
  name: 'ACLPolicy',
  fields: {
    Name: wire.string(),
    Description: wire.string(),
    Rules: wire.string(),
    JobACL: wire.object(JOB_ACL),
  },
};

/** @throws Refusal invalid, DecodeError */
export const readPolicy = (body: unknown): AclPolicySpecification => wire.decodeShape(POLICY, readJsonBody(body));
