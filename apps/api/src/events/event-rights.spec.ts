import { Acl } from '@waybill/acl';
import { expect, it } from 'vitest';
import { anonymous } from '../access/caller.js';
import { maySee } from './event-rights.js';

const rules = `namespace "default" {
  capabilities = ["read-job"]
  variables { path "app/*" { capabilities = ["list"] } }
}`;
const caller = anonymous(Acl.compile([{ name: 'p', modifyIndex: 1, rules }]));

it.each([
  ['Variable', 'default', 'app/db', true],
  ['Variable', 'default', 'other/db', false],
  ['Variable', 'team', 'app/db', false],
  ['Job', 'default', 'web', true],
  ['Job', 'team', 'web', false],
])('EV-43, EV-44: an event of topic %s in %s about %s is shown: %s', (topic, namespace, key, shown) => {
  expect(maySee(caller, { topic, namespace, keys: [key] })).toBe(shown);
});
