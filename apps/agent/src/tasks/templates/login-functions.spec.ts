import { FakeTime } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { aTemplate } from '../../fixtures/task-template.js';
import { TemplateInputs } from './template-inputs.js';
import { TemplateRendering } from './template-rendering.js';
import type { LoginKind } from './template-source.js';

const KINDS: readonly LoginKind[] = [
  'vault.read',
  'vault.list',
  'kv.get',
  'kv.list',
  'health.service',
  'catalog.services',
];

/** Renders with what is known by `kind(name)`, and only with the sources of these kinds. */
function rendered(text: string, known: Record<string, unknown> = {}, kinds: readonly LoginKind[] = KINDS) {
  const source = (kind: string) => ({
    watch(name: string, tell: (value: unknown) => void) {
      const key = `${kind}(${name})`;
      if (key in known) tell(known[key]);
    },
  });
  const none = { watch: () => {} };
  const sources = {
    service: none,
    services: none,
    variable: none,
    variables: none,
    file: none,
    ...Object.fromEntries(kinds.map((kind) => [kind, source(kind)])),
  };
  const inputs = new TemplateInputs(sources, () => {}, new AbortController().signal);
  return new TemplateRendering(aTemplate(), text, { inputs, lookup: () => undefined, clock: new FakeTime() }).render();
}

const value = (given: unknown) => ({ value: given });
const SECRET = value({ Data: { data: { user: 'app', 'pass-word': 'x' } }, LeaseDuration: 60, LeaseID: '' });
const CERTIFICATE = value({ Data: { certificate: 'C', private_key: 'K', issuing_ca: 'A', ca_chain: ['1', '2'] } });
const PAIRS = [
  { Key: 'a', Value: '1', Path: 'app/a' },
  { Key: 'deep/b', Value: '2', Path: 'app/deep/b' },
];

describe('AG-298: functions for Vault', () => {
  const known = {
    'vault.read(["secret/data/db"])': SECRET,
    'vault.read(["pki/issue/web","common_name=a.example"])': CERTIFICATE,
    'vault.list(secret/metadata)': value(['a', 'b/']),
  };

  it.each([
    ['{{ with secret "secret/data/db" }}{{ .Data.data.user }}{{ end }}', 'app'],
    ['{{ with secret "secret/data/db" }}{{ index .Data.data "pass-word" }} {{ .LeaseDuration }}{{ end }}', 'x 60'],
    ['{{ range secrets "secret/metadata" }}{{ . }};{{ end }}', 'a;b/;'],
    [
      '{{ with pkiCert "pki/issue/web" "common_name=a.example" }}{{ .Cert }}{{ .Key }}{{ .CA }}{{ range .CAChain }}{{ . }}{{ end }}{{ end }}',
      'CKA12',
    ],
    ['{{ with secret "pki/issue/web" "common_name=a.example" }}{{ .Data.certificate }}{{ end }}', 'C'],
  ])('%s', (text, output) => expect(rendered(text, known)).toEqual({ text: output }));

  it('a secret that is unknown, absent or refused is missing, and the message has no written fields', () => {
    const text = '{{ with secret "a/b" "password=hidden" }}{{ .Data }}{{ end }}';
    const name = 'vault.read(["a/b","password=hidden"])';
    expect(rendered(text)).toEqual({ missing: ['vault.read(a/b)'] });
    expect(rendered(text, { [name]: value(undefined) })).toEqual({ missing: ['vault.read(a/b)'] });
    expect(rendered(text, { [name]: { refused: 'Vault answered 403: permission denied' } })).toEqual({
      missing: ['vault.read(a/b): Vault answered 403: permission denied'],
    });
  });
});

describe('AG-299: functions for Consul', () => {
  const known = {
    'kv.get(app/x)': value('one'),
    'kv.get(app/none)': value(null),
    'kv.get(app/empty)': value(''),
    'kv.list(app)': value(PAIRS),
    'kv.list(none)': value([]),
    'health.service(web|passing)': value([{ Address: '10.0.0.1', Port: 80 }]),
    'health.service(web|any)': value([{ Address: '10.0.0.2', Port: 81 }]),
    'catalog.services()': value([{ Name: 'web', Tags: ['a'] }]),
  };

  it.each([
    ['{{ key "app/x" }}', 'one'],
    ['{{ keyExists "app/x" }} {{ keyExists "app/none" }} {{ keyExists "app/empty" }}', 'true false true'],
    [
      '{{ keyOrDefault "app/none" "d" }} {{ keyOrDefault "app/x" "d" }} {{ "e" | keyOrDefault "app/empty" }}',
      'd one e',
    ],
    ['{{ range ls "app" }}{{ .Key }}={{ .Value }};{{ end }}', 'a=1;'],
    ['{{ range tree "app" }}{{ .Key }}={{ .Value }};{{ end }}', 'a=1;deep/b=2;'],
    ['{{ range ls "none" }}x{{ end }}.', '.'],
    ['{{ range safeTree "app" }}{{ .Path }};{{ end }}', 'app/a;app/deep/b;'],
    ['{{ range service "web" }}{{ .Address }}:{{ .Port }}{{ end }}', '10.0.0.1:80'],
    ['{{ range service "web" "any" }}{{ .Address }}:{{ .Port }}{{ end }}', '10.0.0.2:81'],
    ['{{ range services }}{{ .Name }}{{ range .Tags }}-{{ . }}{{ end }}{{ end }}', 'web-a'],
  ])('%s', (text, output) => expect(rendered(text, known)).toEqual({ text: output }));

  it.each([
    ['{{ key "app/none" }}', 'kv.get(app/none)'],
    ['{{ key "app/unknown" }}', 'kv.get(app/unknown)'],
    ['{{ keyOrDefault "app/unknown" "d" }}', 'kv.get(app/unknown)'],
    ['{{ safeLs "none" }}', 'kv.list(none)'],
    ['{{ service "db" }}', 'health.service(db|passing)'],
  ])('%s waits', (text, missing) => expect(rendered(text, known)).toEqual({ missing: [missing] }));
});

it.each([
  ['{{ secret "a" }}', 'the task has no vault block, whose token this function needs'],
  ['{{ key "a" }}', 'the task has no consul block, whose token this function needs'],
  ['{{ services }}', 'the task has no consul block, whose token this function needs'],
])('AG-298, AG-299: %s fails without the block', (text, reason) => {
  expect(() => rendered(text, {}, [])).toThrow(reason);
});

it.each(['{{ secret "" }}', '{{ secret 1 }}', '{{ key "" }}', '{{ service 1 }}', '{{ ls 1 }}', '{{ secrets "" }}'])(
  'AG-298, AG-299: %s is refused',
  (text) => expect(() => rendered(text)).toThrow('is wanted'),
);
