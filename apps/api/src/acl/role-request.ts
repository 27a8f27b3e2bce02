import { type AclPolicyLink, type AclRoleSpecification, wire } from '@waybill/model';
import { readJsonBody } from '../http/body.js';

const LINK: wire.Shape<AclPolicyLink> = { name: 'ACLRolePolicyLink', fields: { Name: wire.string() } };

const ROLE: wire.Shape<AclRoleSpecification> = {
  name: 'ACLRole',
  fields: {
    ID: wire.string(),
    Name: wire.string(),
    Description: wire.string(),
    Policies: wire.filledList(wire.present(LINK)),
  },
};

/** @throws Refusal invalid, DecodeError */
export const readRole = (body: unknown): AclRoleSpecification => wire.decodeShape(ROLE, readJsonBody(body));
