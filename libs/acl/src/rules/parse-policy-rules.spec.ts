import { Refusal } from '@waybill/model';
import { expect, it } from 'vitest';
import { NAMESPACE_CAPABILITIES, NAMESPACE_SHORTHANDS } from '../capabilities.js';
import { MAX_POLICY_BLOCKS, MAX_POLICY_BYTES, MAX_POLICY_DEPTH } from '../limits.js';
import { parsePolicyRules } from './parse-policy-rules.js';
import { policyRulesJson } from './policy-rules-json.js';

/** The refusal's text. Everything else that is thrown fails the test. */
function refusal(text: string, lenient = false): string {
  try {
    parsePolicyRules(text, { lenient });
  } catch (error) {
    if (error instanceof Refusal && error.code === 'invalid') return error.message;
    throw error;
  }
  throw new Error(`accepted: ${text}`);
}

it('OP-120, OP-121: level and capabilities add up, with what is implied', () => {
  const { namespaces } = parsePolicyRules(`
    namespace "dev-*" {
      policy       = "read"
      capabilities = ["submit-job", "host-volume-write"]
      variables {
        path "app/*" { capabilities = ["read", "write"] }
      }
    }`);
  expect(namespaces).toHaveLength(1);
  const [rules] = namespaces;
  expect(rules).toMatchObject({ label: 'dev-*', level: 'read' });
  expect(rules?.variables).toEqual([{ path: 'app/*', capabilities: ['read', 'list', 'write'] }]);
  expect(rules?.capabilities.toSorted()).toEqual(
    [
      'submit-job',
      'host-volume-write',
      'host-volume-register',
      'host-volume-create',
      'host-volume-delete',
      ...NAMESPACE_SHORTHANDS.read,
    ].toSorted(),
  );
});

it('OP-122: these are not in the level write', () => {
  const [rules] = parsePolicyRules('namespace "default" { policy = "write" }').namespaces;
  for (const missing of [
    'alloc-node-exec',
    'csi-register-plugin',
    'sentinel-override',
    'host-volume-register',
    'host-volume-delete',
  ])
    expect(rules?.capabilities).not.toContain(missing);
  expect(rules?.capabilities).toHaveLength(20);
});

it('OP-129: each capability of the table may be named', () => {
  const capabilities = JSON.stringify([...NAMESPACE_CAPABILITIES, 'deny']);
  const [rules] = parsePolicyRules(`namespace "default" { capabilities = ${capabilities} }`).namespaces;
  expect(rules?.capabilities.toSorted()).toEqual([...NAMESPACE_CAPABILITIES, 'deny'].toSorted());
});

it('OP-129: empty text has no rules', () => {
  expect(parsePolicyRules('')).toEqual({ namespaces: [], nodePools: [], hostVolumes: [] });
});

it.each([
  [
    'the layout of HCL 1',
    'namespace "a" { policy = "read" variables { path "x" { capabilities = ["list"] } } } agent { policy = "write" }',
  ],
  [
    'commas',
    'namespace "a" { policy = "read", variables { path "x" { capabilities = ["list"], } }, }, agent { policy = "write" }',
  ],
  [
    'quoted names',
    '"namespace" "a" { "policy" = "read"\n variables { path "x" { "capabilities" = ["list",] } } }\n"agent" { policy = "write" }',
  ],
  [
    'comments',
    '# a\nnamespace "a" { // b\n policy = "read" /* c */ variables { path "x" { capabilities = ["list"] } } }\nagent { policy = "write" }',
  ],
  [
    'JSON',
    '{"namespace": {"a": {"policy": "read", "variables": {"path": {"x": {"capabilities": ["list"]}}}}}, "agent": {"policy": "write"}}',
  ],
  [
    'JSON with lists',
    '{"namespace": [{"a": [{"policy": "read", "variables": [{"path": [{"x": {"capabilities": ["list"]}}]}]}]}], "agent": [{"policy": "write"}]}',
  ],
])('OP-129: rules may be written with %s', (_, text) => {
  const rules = parsePolicyRules(text);
  expect(rules.agent).toEqual({ level: 'write' });
  expect(rules.namespaces).toEqual([
    {
      label: 'a',
      level: 'read',
      capabilities: NAMESPACE_SHORTHANDS.read,
      variables: [{ path: 'x', capabilities: ['list'] }],
    },
  ]);
});

it.each([
  ['namespace "a b" { policy = "read" }', /^Invalid namespace name: "a b"/],
  ['namespace { policy = "read" }', /^Invalid namespace name: ""/],
  [`namespace "${'a'.repeat(129)}" { policy = "read" }`, /^Invalid namespace name: /],
  ['namespace "a" { policy = "list" }', /^Invalid namespace policy: "list"/],
  ['namespace "a" { capabilities = ["deny", "fly"] }', /^Invalid namespace capability 'fly': /],
  ['node_pool { policy = "read" }', /^Invalid node pool name ''$/],
  ['node_pool "p.q" { policy = "read" }', /^Invalid node pool name 'p\.q'$/],
  ['node_pool "p_q" { policy = "x" }', /^Invalid node pool policy 'x' for 'p_q'$/],
  ['node_pool "p" { capabilities = ["fly"] }', /^Invalid node pool capability 'fly' for 'p'$/],
  ['host_volume "p_q" { policy = "read" }', /^Invalid host volume name: "p_q"/],
  ['host_volume "p" { policy = "x" }', /^Invalid host volume policy: "x"/],
  ['host_volume "p" { capabilities = ["mount"] }', /^Invalid host volume capability 'mount': /],
  ['namespace "a" { variables { } }', /^Invalid variable policy: no variable paths in namespace a$/],
  [
    'namespace "a" { variables { path "" { capabilities = ["read"] } } }',
    /^Invalid missing variable path in namespace a$/,
  ],
  [
    'namespace "a" { variables { path { capabilities = ["read"] } } }',
    /^Invalid missing variable path in namespace a$/,
  ],
  [
    'namespace "a" { variables { path "/x" { capabilities = ["read"] } } }',
    /^Invalid variable path "\/x" in namespace a: .*leading '\/'/,
  ],
  [
    'namespace "a" { variables { path "x" { capabilities = ["fly"] } } }',
    /^Invalid variable capability 'fly' in namespace a$/,
  ],
  ['agent { policy = "list" }', /^Invalid agent policy: "list"/],
  ['agent { }', /^Invalid agent policy: ""/],
  ['node { policy = "x" }', /^Invalid node policy: /],
  ['quota { policy = "x" }', /^Invalid quota policy: /],
  ['operator { policy = "x" }', /^Invalid operator policy: /],
  ['operator { capabilities = ["fly"] }', /^Invalid operator capability 'fly'$/],
  ['sentinel { policy = "x" }', /^Invalid sentinel policy: /],
  ['plugin { policy = "scale" }', /^Invalid plugin policy: "scale"/],
  ['plugin { }', /^Invalid plugin policy: ""/],
  ['namespace "a" {', /^Failed to parse ACL Policy: policy:1,15-16: Unclosed/],
  ['namespace "a" { policy = upper("read") }', /^Failed to parse ACL Policy: .*literal/],
  ['namespace "a" { policy = var.level }', /^Failed to parse ACL Policy: .*literal/],
  ['namespace "a" { policy = "${x}" }', /^Failed to parse ACL Policy: .*literal/],
  ['namespace "a" { policy = true }', /^Failed to parse ACL Policy: policy in namespace "a" must be a string$/],
  [
    'namespace "a" { capabilities = "read-job" }',
    /^Failed to parse ACL Policy: capabilities in namespace "a" must be a list of strings$/,
  ],
  ['# nothing', /^Invalid policy: /],
  ['   ', /^Invalid policy: /],
  ['{}', /^Invalid policy: /],
  ['nothing "known" { policy = "read" }', /^Invalid policy: /],
])('OP-128, OP-129, OP-130: %j is refused', (text, expected) => {
  expect(refusal(text)).toMatch(expected);
});

it.each([
  ['an attribute', 'namespace "a" {\n policy = "read"\n color = "red"\n}', 'color in namespace "a"'],
  ['an attribute outside of blocks', 'namespace "a" { policy = "read" }\nname = "x"', 'name'],
  ['an attribute given twice', 'namespace "a" {\n policy = "deny"\n policy = "read"\n}', 'policy in namespace "a"'],
  [
    'capabilities of a level',
    'namespace "a" { policy = "read" }\nnode {\n policy = "read"\n capabilities = []\n}',
    'capabilities in node',
  ],
  ['a block', 'namespace "a" { policy = "read" }\ncolor "x" { }', 'color'],
  ['a block in a block', 'namespace "a" {\n policy = "read"\n color { }\n}', 'color in namespace "a"'],
  [
    'a member of a path',
    'namespace "a" {\n policy = "read"\n variables { path "x" { policy = "read" } }\n}',
    'policy in path "x" in namespace "a"',
  ],
  ['a second label', 'namespace "a" { policy = "read" }\nnamespace "b" "c" { policy = "read" }', 'c in namespace "b"'],
  ['a label where none belongs', 'namespace "a" { policy = "read" }\nagent "x" { policy = "read" }', 'x in agent'],
  [
    'a block given twice',
    'namespace "a" { policy = "read" }\nnode { policy = "read" }\nnode { policy = "read" }',
    'node',
  ],
  [
    'variables given twice',
    'namespace "a" {\n policy = "read"\n variables { path "x" { capabilities = [] } }\n variables { path "y" { capabilities = [] } }\n}',
    'variables in namespace "a"',
  ],
  [
    'a name that every object has',
    'namespace "a" {\n policy = "read"\n constructor = 1\n}',
    'constructor in namespace "a"',
  ],
])('OP-129: %s is refused on write', (what, text, key) => {
  expect(refusal(text)).toBe(`Invalid or duplicate policy keys: ${key}`);
  const lenient = what === 'a label too many' ? undefined : parsePolicyRules(text, { lenient: true });
  if (lenient) expect(lenient.namespaces[0]).toMatchObject({ label: 'a', level: 'read' });
});

it('OP-129: unknown keys of a stored policy mean nothing, and known ones are still checked', () => {
  expect(parsePolicyRules('color "x" { }', { lenient: true }).namespaces).toEqual([]);
  expect(parsePolicyRules('namespace "b" "c" { policy = "read" }', { lenient: true }).namespaces).toEqual([
    { label: 'b', level: undefined, capabilities: [], variables: [] },
  ]);
  const labelled = 'namespace "a" { variables "x" { path "y" { capabilities = ["read"] } } }';
  expect(parsePolicyRules(labelled, { lenient: true }).namespaces[0]?.variables).toEqual([]);
  expect(refusal('namespace "a" { capabilities = ["fly"] }', true)).toMatch(/^Invalid namespace capability 'fly'/);
});

it('OP-129: two blocks of one label are no duplicates, in HCL and in JSON', () => {
  const hcl = 'namespace "a" { policy = "deny" variables { path "x" { capabilities = ["read"] } } }\n'.repeat(2);
  const json = '{"namespace": {"a": {"policy": "deny"}, "a": {"policy": "read"}}}';
  expect(parsePolicyRules(hcl).namespaces).toHaveLength(2);
  expect(parsePolicyRules(json).namespaces.map(({ level }) => level)).toEqual(['deny', 'read']);
  expect(refusal('{"namespace": {"a": {"policy": "deny", "policy": "read"}}}')).toBe(
    'Invalid or duplicate policy keys: policy in namespace "a"',
  );
});

it('OP-129: in JSON, texts have all escapes of JSON, and `${` is text', () => {
  const path = 'apps\\/${job}\\u002f*';
  const text = `{"namespace": {"\\u0061": {"variables": {"path": {"${path}": {"capabilities": ["re\\u0061d"]}}}}}}`;
  expect(parsePolicyRules(text).namespaces).toMatchObject([
    { label: 'a', variables: [{ path: 'apps/${job}/*', capabilities: ['read', 'list'] }] },
  ]);
  expect(refusal('{"namespace": {"a": {"policy": "\\f"}}}')).toMatch(/^Invalid namespace policy: "\\f"/);
});

it('OP-130: limits are refused by name', () => {
  const block = (n: number): string => `namespace "n${n}" { policy = "read" }\n`;
  const blocks = (count: number): string => Array.from({ length: count }, (_, n) => block(n)).join('');
  const nested = (depth: number): string =>
    `namespace "a" { policy = "read" }\n${'x {\n'.repeat(depth)}${'}\n'.repeat(depth)}`;
  expect(parsePolicyRules(blocks(MAX_POLICY_BLOCKS)).namespaces).toHaveLength(MAX_POLICY_BLOCKS);
  expect(refusal(blocks(MAX_POLICY_BLOCKS + 1))).toMatch(`at most ${MAX_POLICY_BLOCKS} blocks`);
  const padded = block(1) + '#'.repeat(MAX_POLICY_BYTES - block(1).length);
  expect(parsePolicyRules(padded).namespaces).toHaveLength(1);
  expect(refusal(`${padded}#`)).toMatch(`at most ${MAX_POLICY_BYTES} bytes`);
  expect(refusal(nested(MAX_POLICY_DEPTH))).toMatch(/^Invalid or duplicate/);
  expect(refusal(nested(MAX_POLICY_DEPTH + 1))).toMatch(`nested ${MAX_POLICY_DEPTH} deep`);
  expect(refusal(nested(100_000).slice(0, MAX_POLICY_BYTES))).toMatch(
    /^Failed to parse ACL Policy: .*Nesting too deep/,
  );
  expect(refusal(`namespace "a" { capabilities = ${'['.repeat(100_000)}`)).toMatch(/Nesting too deep/);
});

it('OP-160: the parsed rules in their wire form', () => {
  const rules = parsePolicyRules(`
    namespace "a" { capabilities = ["deny"] }
    namespace "b" { variables { path "x" { capabilities = [] } } }
    node_pool "p" { policy = "write" }
    operator { capabilities = ["snapshot-save"] }
    plugin { policy = "list" }`);
  expect(policyRulesJson(rules)).toEqual({
    Namespaces: [
      { Name: 'a', Policy: '', Capabilities: ['deny'], Variables: null },
      { Name: 'b', Policy: '', Capabilities: null, Variables: { Paths: [{ PathSpec: 'x', Capabilities: null }] } },
    ],
    NodePools: [{ Name: 'p', Policy: 'write', Capabilities: ['delete', 'read', 'write'] }],
    HostVolumes: null,
    Agent: null,
    Node: null,
    Operator: { Policy: '', Capabilities: ['snapshot-save'] },
    Quota: null,
    Plugin: { Policy: 'list' },
    Sentinel: null,
  });
});
