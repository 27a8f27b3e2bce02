import { wire } from '@waybill/model';
import { readJsonBody } from '../http/body.js';

/** GivenBindingRule is a binding rule as a client sends it. Members that the servers determine are ignored. */
export interface GivenBindingRule {
  ID: string;
  Description: string;
  AuthMethod: string;
  Selector: string;
  BindType: string;
  BindName: string;
}

const BINDING_RULE: wire.Shape<GivenBindingRule> = {
  name: 'ACLBindingRule',
  fields: {
    ID: wire.string(),
    Description: wire.string(),
    AuthMethod: wire.string(),
    Selector: wire.string(),
    BindType: wire.string(),
    BindName: wire.string(),
  },
};

/** @throws Refusal invalid, DecodeError */
export const readBindingRule = (body: unknown): GivenBindingRule => wire.decodeShape(BINDING_RULE, readJsonBody(body));
