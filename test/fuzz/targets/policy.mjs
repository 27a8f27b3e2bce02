// ACL policies in HCL or JSON: what is accepted compiles, and means the same however often it is read.
import { Acl, parsePolicyRules, policyRulesJson } from '../../../libs/acl/dist/index.js';
import { Refusal } from '../../../libs/model/dist/index.js';
import { BrokenPromise, declaring, same, texts, timed } from '../harness.mjs';

export const fuzz = timed((data) => {
  const [rules = '', namespace = '', path = ''] = texts(data, 3);
  const lenient = declaring([Refusal], () => parsePolicyRules(rules, { lenient: true }));
  const strict = declaring([Refusal], () => parsePolicyRules(rules));
  if (strict === undefined) return;
  // What was accepted once is never refused, and never another policy, when it is read as a stored one.
  same('a stored policy', lenient, strict);
  JSON.stringify(policyRulesJson(strict));
  const acl = Acl.compile([{ name: 'p', modifyIndex: 1, rules }]);
  const twice = Acl.compile([
    { name: 'q', modifyIndex: 2, rules },
    { name: 'p', modifyIndex: 1, rules },
  ]);
  const names = [namespace, 'default', ...strict.namespaces.map(({ label }) => label.replaceAll('*', 'x'))];
  for (const name of names) {
    const allowed = acl.allowsNamespace(name, 'read-job', 'submit-job');
    same('a policy and itself', twice.allowsNamespace(name, 'read-job', 'submit-job'), allowed);
    same('variables', twice.allowsVariable(name, path, 'read'), acl.allowsVariable(name, path, 'read'));
    if (allowed && !acl.hasAccessToNamespace(name)) throw new BrokenPromise(`allowed without access: ${name}`);
    if (allowed && !acl.allowsAnyNamespace('read-job', 'submit-job'))
      throw new BrokenPromise(`allowed nowhere: ${name}`);
  }
  if (acl.isManagement()) throw new BrokenPromise('a policy made management');
});

export const seeds = () => [
  'namespace "dev-*" {\n policy = "write"\n capabilities = ["alloc-node-exec", "deny"]\n variables { path "app/*" { capabilities = ["read", "destroy"] } }\n}\n--\ndev-1\n--\napp/a',
  'node_pool "gpu_*" { policy = "read" }\nhost_volume "*" { capabilities = ["mount-readonly"] }\nplugin { policy = "list" }',
  'agent { policy = "read" } node { policy = "write" } quota { policy = "scale" } operator { policy = "deny" capabilities = ["snapshot-save"] } sentinel { policy = "read" }',
  '{"namespace": {"default": [{"policy": "read"}, {"variables": {"path": {"a": {"capabilities": ["list"]}}}}]}, "agent": [{"policy": "read"}]}',
  '"namespace" "a" { "policy" = "read", }\n# c\nnamespace "b" "c" { policy = <<X\nread\nX\n}',
];
