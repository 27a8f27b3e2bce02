import { describe, expect, it } from 'vitest';
import { newEvaluation } from '../evaluations/evaluation.js';
import { Filter, FilterEvaluationError, FilterSyntaxError, FilterTooExpensiveError, StepBudget } from './index.js';

const job = {
  ID: 'web',
  Priority: 50,
  Stop: false,
  Datacenters: ['dc1', 'dc2'],
  Meta: { owner: 'ops', 'a.b': 'dotted', empty: '' },
  Constraints: null,
  ParameterizedJob: null,
  Periodic: { Enabled: true, Specs: ['* * * * *'] },
  TaskGroups: [
    {
      Name: 'one',
      Count: 1,
      Meta: null,
      Tasks: [{ Name: 'a', Config: { image: 'x:1', ports: [80], deep: { on: true } } }],
    },
    { Name: 'two', Count: 3, Meta: { tier: 'gold' }, Tasks: [] },
  ],
  CreateIndex: 16,
  SubmitTime: Number('1755779638123456789'),
};
const says = (expression: string, object: object = job): boolean => Filter.parse(expression).matches(object);
const fails = (expression: string, object: object = job): string => {
  try {
    says(expression, object);
  } catch (error) {
    expect(error).toBeInstanceOf(FilterEvaluationError);
    return (error as Error).message;
  }
  throw new Error(`${expression} was decided`);
};

describe('filter expressions', { timeout: 60_000 }, () => {
  it.each([
    ['ID == web', true],
    ['ID == "web"', true],
    ['ID == `web`', true],
    ['ID != web', false],
    ['we in ID', true],
    ['"x" not in ID', true],
    ['ID contains "eb"', true],
    ['ID not contains eb', false],
    ['dc1 in Datacenters', true],
    ['Datacenters contains dc3', false],
    ['owner in Meta', true],
    ['Meta contains nobody', false],
    ['Datacenters is empty', false],
    ['Constraints is empty', true],
    ['Meta is not empty', true],
    ['ID is not empty', true],
    ['ParameterizedJob is nil', true],
    ['Periodic is not nil', true],
    ['ID matches "^w.b$"', true],
    ['ID not matches "^a"', true],
    ['(ID == web)', true],
    [' ( ID == web and ( Priority == 50 ) ) ', true],
  ])('API-68: comparison %s', (expression, expected) => {
    expect(says(expression)).toBe(expected);
  });

  it('API-68: or binds loosest, then and, then not', () => {
    expect(says('ID == web or ID == x and ID == y')).toBe(true);
    expect(says('(ID == web or ID == x) and ID == y')).toBe(false);
    expect(says('not ID == x and ID == web')).toBe(true);
    expect(says('not (ID == x or ID == web)')).toBe(false);
    expect(says('not not ID == web')).toBe(true);
  });

  it.each([
    ['any TaskGroups as g { g.Count == 3 }', true],
    ['all TaskGroups as g { g.Count == 3 }', false],
    ['any TaskGroups as i, g { i == 1 and g.Name == two }', true],
    ['any TaskGroups as _, g { g.Name == three }', false],
    ['any TaskGroups as i, _ { i == 2 }', false],
    ['any Meta as k { k == owner }', true],
    ['any Meta as k, v { k == owner and v == ops }', true],
    ['all Meta as _, v { v is not empty }', false],
    ['any Constraints as c { c.LTarget == x }', false],
    ['all Constraints as c { c.LTarget == x }', true],
    ['any TaskGroups as g { any g.Tasks as t { t.Name == a and ID == web } }', true],
    ['any Datacenters as d { d matches "2$" }', true],
  ])('API-68: quantifier %s', (expression, expected) => {
    expect(says(expression)).toBe(expected);
  });

  it.each([
    ['Meta.owner == ops', true],
    ['Meta["a.b"] == dotted', true],
    ['Meta[`a.b`] == dotted', true],
    ['"/Meta/a.b" == dotted', true],
    ['TaskGroups.1.Name == two', true],
    ['"/TaskGroups/0/Name" == one', true],
    ['TaskGroups.0.Tasks.0.Config.deep.on == true', true],
    ['Periodic.Enabled == T', true],
    ['Priority == 0x32', true],
    ['Priority == "0b110010"', true],
    ['CreateIndex == "020"', true],
    ['SubmitTime == 1755779638123456789', true],
    ['Stop == 0', true],
  ])('API-69: selector and value %s', (expression, expected) => {
    expect(says(expression)).toBe(expected);
  });

  it('API-69: values are converted to the type of the field, or the comparison is an error', () => {
    expect(fails('Priority == high')).toContain('strconv.ParseInt: parsing "high"');
    expect(fails('Priority == 1.5')).toContain('strconv.ParseInt');
    expect(fails('Stop == maybe')).toContain('strconv.ParseBool');
    expect(says('NormScore == 1.0', { NormScore: 1 })).toBe(true);
  });

  it.each([
    ['==', 'Meta.none == x', false],
    ['!=', 'Meta.none != x', true],
    ['in', 'x in Meta.none', false],
    ['not in', 'x not in Meta.none', true],
    ['is empty', 'Meta.none is empty', true],
    ['is not empty', 'Meta.none is not empty', false],
    ['matches', 'Meta.none matches ".*"', false],
    ['not matches', 'Meta.none not matches ".*"', true],
  ])('API-70: a key that is absent, by %s', (_, expression, expected) => {
    expect(says(expression)).toBe(expected);
    expect(says(expression.replace('Meta.none', 'TaskGroups.0.Meta.none')), 'in a map that is null').toBe(expected);
  });

  it('API-70: an unknown field and a way through null are errors; "and" guards', () => {
    expect(fails('NoSuch == 1')).toContain('error finding value in datum');
    expect(fails('id == web'), 'names are case-sensitive').toContain("couldn't find key");
    expect(fails('ParameterizedJob.Payload == x')).toContain('error finding value in datum');
    expect(fails('ParameterizedJob == x')).toContain('error finding value in datum');
    expect(fails('TaskGroups.7.Name == x')).toContain('out of range');
    expect(fails('Datacenters == dc1')).toContain('on type list');
    expect(fails('Priority is empty')).toContain('is empty');
    expect(says('ParameterizedJob is not nil and ParameterizedJob.Payload == x')).toBe(false);
    expect(says('ID == web or NoSuch == 1')).toBe(true);
  });

  it('secrets cannot be asked for', () => {
    const node = { ID: 'n', SecretID: 'abc', Meta: { SecretID: 'mine' } };
    expect(fails('SecretID matches "^a"', node)).toContain("couldn't find key");
    expect(says('Meta.SecretID == mine', node)).toBe(true);
    const evaluation = newEvaluation({
      ID: 'e',
      Namespace: 'default',
      Priority: 1,
      Type: 'service',
      TriggeredBy: 'scheduled',
      JobID: 'j',
      CreateTime: 1,
      LeaderACL: 's',
    });
    expect(fails('LeaderACL is not empty', evaluation)).toContain("couldn't find key");
  });

  it.each([
    '',
    'ID',
    'ID ==',
    '== web',
    'ID == web or',
    'ID = web',
    '(ID == web',
    'ID == web)',
    'ID == "web',
    'ID is full',
    'any Meta as { x == 1 }',
    'any Meta as k k == 1',
    'Meta[a] == 1',
    '"x" == y',
    'ID == web ID == web',
    'ID like x',
    'ID matches "("',
    'ID matches "(?=x)"',
    'ID matches "\\\\1"',
    'a in 7',
    'ID == 5c1f6f0e-8a52',
    'not',
    'ID == \u{1f600}',
  ])('API-71: %j cannot be read', (expression) => {
    expect(() => Filter.parse(expression)).toThrow(FilterSyntaxError);
  });

  it('API-71: limits: length, nesting, steps', () => {
    expect(() => Filter.parse(`ID == "${'x'.repeat(70_000)}"`)).toThrow(FilterSyntaxError);
    expect(() => Filter.parse(`${'('.repeat(5_000)}ID == x${')'.repeat(5_000)}`)).toThrow(FilterSyntaxError);
    const long = Array.from({ length: 4_000 }, () => 'ID == web').join(' and ');
    expect(says(long)).toBe(true);
    expect(says(`${'not '.repeat(10_001)}ID == x`)).toBe(true);
    const wide = { A: Array.from({ length: 2_000 }, () => 'x') };
    expect(() => says('all A as x { all A as y { x == x } }', wide)).toThrow(FilterTooExpensiveError);
    expect(() => Filter.parse('ID == web').matches(job, new StepBudget(0))).toThrow(FilterTooExpensiveError);
  });

  it('names of members that every object has are no fields', () => {
    expect(fails('constructor == x')).toContain("couldn't find key");
    expect(says('Meta.constructor == x')).toBe(false);
    expect(says('__proto__ in Meta')).toBe(false);
  });
});
