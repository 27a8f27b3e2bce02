import { FakeTime } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { aTemplate } from '../../fixtures/task-template.js';
import { MAX_MATCH_STEPS } from './template-functions.js';
import { MAX_TEMPLATE_INPUTS, TemplateInputs } from './template-inputs.js';
import { TemplateRendering } from './template-rendering.js';

const FACTS: Record<string, string> = { NOMAD_DC: 'dc1', 'attr.cpu.arch': 'amd64' };

function setup(text: string, known: Record<string, unknown> = {}, over: Parameters<typeof aTemplate>[0] = {}) {
  const told = new Map<string, (value: unknown) => void>();
  const source = (kind: string) => ({
    watch(name: string, tell: (value: unknown) => void) {
      told.set(`${kind}(${name})`, tell);
      if (`${kind}(${name})` in known) tell(known[`${kind}(${name})`]);
    },
  });
  let changes = 0;
  const sources = {
    service: source('service'),
    services: source('services'),
    variable: source('variable'),
    variables: source('variables'),
    file: source('file'),
  };
  const inputs = new TemplateInputs(sources, () => changes++, new AbortController().signal);
  const facts = { inputs, lookup: (name: string) => FACTS[name], clock: new FakeTime(1_800_000_000_000) };
  const rendering = new TemplateRendering(aTemplate(over), text, facts);
  return { rendering, told, changes: () => changes };
}

const SERVICES = [
  { ID: 'a', Name: 'db', Address: '10.0.0.1', Port: 1, Tags: ['x'] },
  { ID: 'b', Name: 'db', Address: '10.0.0.2', Port: 2, Tags: [] },
];

describe('one template', () => {
  it.each([
    ['{{ env "NOMAD_DC" }}/{{ env "attr.cpu.arch" }}/{{ env "NONE" }}.', 'dc1/amd64/.'],
    ['{{ envOrDefault "NONE" "x" }}', 'x'],
    ['{{ timestamp }}', '2027-01-15T08:00:00Z'],
    ['{{ "a,b" | split "," | join "-" }} {{ "x" | toUpper }} {{ 7 | subtract 2 }} {{ 7 | divide 2 }}', 'a-b X 5 3'],
    ['{{ range $i := loop 2 4 }}{{ $i }}{{ end }}', '23'],
    ['{{ with parseJSON "{\\"a\\":[1,2]}" }}{{ index .a 1 }}{{ end }}{{ "x: 1" | parseYAML | toJSON }}', '2{"x":1}'],
    ['{{ "x\\ny" | indent 2 }}|{{ "aXb" | replaceAll "X" "$&" }}|{{ "--a-" | trim "-" }}', '  x\n  y|a$&b|a'],
    ['{{ "a" | base64Encode }}{{ "YQ==" | base64Decode }}{{ "a" | sha256Hex | len }}', 'YQ==a64'],
    ['{{ if "abc" | contains "b" }}yes{{ end }}{{ if in "abc" "z" }}no{{ end }}', 'yes'],
    ['{{ "node-7" | regexMatch "^[a-z]+-\\\\d$" }} {{ regexMatch "(?i)^B" "abc" }}', 'true false'],
  ])('AG-292: %s', (text, output) => {
    expect(setup(text).rendering.render()).toEqual({ text: output });
  });

  it('AG-292: services by name, some of them by a key, files; what is not known yet is missing', () => {
    const text = '{{ range nomadService "db" }}{{ .Address }}:{{ .Port }} {{ end }}{{ file "local/x" }}';
    const { rendering, told, changes } = setup(text, { 'service(db)': SERVICES });
    expect(rendering.render()).toEqual({ missing: ['file(local/x)'] });
    told.get('file(local/x)')!('hello');
    expect(rendering.render()).toEqual({ text: '10.0.0.1:1 10.0.0.2:2 hello' });
    const before = changes();
    told.get('file(local/x)')!('hello');
    expect(changes()).toBe(before);
    const one = setup('{{ range nomadService 1 "me" "db" }}{{ .ID }}{{ end }}', { 'service(db)': SERVICES });
    expect(one.rendering.render()).toEqual(one.rendering.render());
    expect(one.rendering.render()).toMatchObject({ text: expect.stringMatching(/^[ab]$/) });
  });

  it('AG-292: the names of all services, with their tags', () => {
    const { rendering, told } = setup('{{ range nomadServices }}{{ .Name }}={{ join "," .Tags }};{{ end }}');
    expect(rendering.render()).toEqual({ missing: ['services(all)'] });
    const services = [
      { Name: 'db', Tags: ['x', 'y'] },
      { Name: 'web', Tags: [] },
    ];
    told.get('services(all)')!(services);
    expect(rendering.render()).toEqual({ text: 'db=x,y;web=;' });
  });

  it('OP-137: a variable that is missing, or that the task may not read, is waited for; the event says which it is', () => {
    const text = '{{ with nomadVar "app/db" }}{{ .user }}:{{ .password }}{{ end }}';
    const { rendering, told } = setup(text, {}, { ErrMissingKey: true });
    expect(rendering.render()).toEqual({ missing: ['variable(app/db)'] });
    told.get('variable(app/db)')!({ items: null, isDenied: false });
    expect(rendering.render()).toEqual({ missing: ['variable(app/db)'] });
    told.get('variable(app/db)')!({ items: null, isDenied: true });
    expect(rendering.render()).toEqual({ missing: ['variable(app/db), which its policies do not let it read'] });
    told.get('variable(app/db)')!({ items: { user: 'me', password: 'x{{' }, isDenied: false });
    expect(rendering.render()).toEqual({ text: 'me:x{{' });
    const direct = setup('{{ (nomadVar "a").b }}', {}, { ErrMissingKey: true });
    expect(direct.rendering.render()).toEqual({ missing: ['variable(a)'] });
  });

  it('OP-137: variables are listed by the beginning of their paths, and asked for by their whole path', () => {
    const listed = ['app/db', 'app/db/old'].map((Path) => ({ Namespace: 'default', Path }));
    const known = {
      'variables(app)': listed,
      'variables(app/db)': listed,
      'variables(app/d)': listed,
      'variables()': [],
    };
    const render = (text: string) => setup(text, known).rendering.render();
    expect(render('{{ range nomadVarList "app" }}{{ .Path }}@{{ .Namespace }};{{ end }}')).toEqual({
      text: 'app/db@default;app/db/old@default;',
    });
    expect(render('{{ nomadVarExists "app/db" }} {{ nomadVarExists "app/d" }} {{ len nomadVarList }}')).toEqual({
      text: 'true false 0',
    });
    expect(render('{{ nomadVarListSafe }}')).toEqual({ missing: ['variables()'] });
  });

  it('AG-292: delimiters and error_on_missing_key are those of the job', () => {
    const own = setup('[[ env "NOMAD_DC" ]] {{ x }}', {}, { LeftDelim: '[[', RightDelim: ']]' });
    expect(own.rendering.render()).toEqual({ text: 'dc1 {{ x }}' });
    const text = '{{ with parseJSON "{}" }}{{ .none }}{{ end }}{{ (parseJSON "{\\"a\\":1}").none }}';
    expect(setup(text).rendering.render()).toEqual({ text: '<no value>' });
    expect(() => setup(text, {}, { ErrMissingKey: true }).rendering.render()).toThrow(
      'map has no entry for key "none"',
    );
  });

  it('asks for no more than a limit, and runs no longer than one', () => {
    const many = setup(`{{ range $i := loop ${MAX_TEMPLATE_INPUTS + 1} }}{{ file (printf "f%d" $i) }}{{ end }}`);
    expect(() => many.rendering.render()).toThrow('at most 200');
    expect(() => setup('{{ range loop 100000 }}{{ end }}').rendering.render()).toThrow('too many turns');
  });

  it('a pattern that would take for ever ends the template instead, and so does one that is none', () => {
    const text = 'a'.repeat(MAX_MATCH_STEPS);
    const costly = setup(`{{ file "x" | regexMatch "(a*)*b" }}`, { 'file(x)': text });
    expect(() => costly.rendering.render()).toThrow(/steps|expensive|too/i);
    expect(() => setup('{{ regexMatch "(" "x" }}').rendering.render()).toThrow('error parsing regexp');
  });
});
