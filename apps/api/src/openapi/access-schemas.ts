import * as t from './schema.js';

const INDEXES = { CreateIndex: t.uint, ModifyIndex: t.uint };
const roleLinks = t.maybeListOf(t.plain({ ID: t.text, Name: t.text }));

const TOKEN = {
  AccessorID: t.text,
  Name: t.text,
  Type: t.oneOf('client', 'management'),
  Policies: t.maybeListOf(t.text),
  Roles: roleLinks,
  Global: t.flag,
  Hash: t.text,
  CreateTime: t.nullable(t.text),
  ExpirationTime: t.nullable(t.text),
  ...INDEXES,
};

const POLICY = {
  Name: t.text,
  Description: t.text,
  JobACL: t.nullable(t.plain({ Namespace: t.text, JobID: t.text, Group: t.text, Task: t.text })),
  Hash: t.text,
  ...INDEXES,
};

/** Tokens, policies and roles (section 7.1 of the reference of operator endpoints). */
export const ACCESS_SCHEMAS: Readonly<Record<string, t.JsonSchema>> = {
  ACLToken: t.plain({ ...TOKEN, SecretID: t.text, ExpirationTTL: t.text }),
  ACLTokenListStub: t.plain(TOKEN),
  ACLPolicy: t.plain({ ...POLICY, Rules: t.text, RulesJSON: t.anything }),
  ACLPolicyListStub: t.plain(POLICY),
  ACLRole: t.plain({
    ID: t.text,
    Name: t.text,
    Description: t.text,
    Policies: t.listOf(t.plain({ Name: t.text })),
    Hash: t.text,
    ...INDEXES,
  }),
  OneTimeToken: t.plain({ OneTimeSecretID: t.text, AccessorID: t.text, ExpiresAt: t.text, ...INDEXES }),
};
