import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type Json, type JsonObject, isJsonObject } from './decoding/json.js';
import { type JobSource, parseJob } from './parse-job.js';

/** The fixtures stand in the contract; the tests read them there. */
const contract = readFileSync(new URL('../../../docs/reference/jobspec.md', import.meta.url), 'utf8');

interface Fixture {
  readonly name: string;
  readonly hcl: string;
  readonly json: JsonObject;
  readonly section: string;
}

const block = (section: string, language: string): string | undefined =>
  new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``, 'u').exec(section)?.[1];

const fixtures: Fixture[] = contract
  .split(/^### (?=JS-F\d)/mu)
  .slice(1)
  .map((section) => ({
    name: section.split('\n', 1)[0] ?? '',
    hcl: block(section, 'hcl') ?? '',
    json: JSON.parse(block(section, 'json') ?? '{}') as JsonObject,
    section,
  }));

const inputs: Readonly<Record<string, Partial<JobSource>>> = {
  'JS-F9': {
    variableFiles: [{ name: 'input.hcl', text: 'image = "acme/app:1"\nowner = "Ann"\n' }],
    environment: { replicas: '1' },
  },
};

const parsed = ({ name, hcl }: Fixture, more: Partial<JobSource> = {}): JsonObject =>
  parseJob({ file: { name: 'input.hcl', text: hcl }, ...inputs[name.split(':')[0] ?? ''], ...more }).job;

/** Expects every shown member to be equal, and every other member to have its unset value (JS-250). */
function expectShown(actual: Json | undefined, shown: Json, place: string): void {
  if (Array.isArray(shown)) {
    expect(Array.isArray(actual) && actual.length, place).toBe(shown.length);
    for (const [at, item] of shown.entries())
      expectShown(Array.isArray(actual) ? actual[at] : null, item, `${place}[${at}]`);
  } else if (isJsonObject(shown)) {
    expect(isJsonObject(actual), place).toBe(true);
    if (!isJsonObject(actual)) return;
    for (const [key, value] of Object.entries(shown)) expectShown(actual[key], value, `${place}.${key}`);
    const others = Object.keys(actual).filter((key) => !Object.hasOwn(shown, key));
    for (const key of others) expect([null, '', 0, false], `${place}.${key}`).toContain(actual[key]);
  } else {
    expect(actual, place).toEqual(shown);
  }
}

describe('the fixtures of the contract', () => {
  it('JS-250: there are ten', () => {
    expect(fixtures).toHaveLength(10);
  });

  it.each(fixtures)('JS-250: $name', (fixture) => {
    expectShown(parsed(fixture), fixture.json, 'job');
  });

  it('JS-130: the whole of the smallest job, key by key', () => {
    const [first] = fixtures;
    expect(parsed(first!)).toEqual(JSON.parse(block(first!.section, 'json full')!));
  });

  it('JS-170: and canonicalised', () => {
    const [first] = fixtures;
    expect(parsed(first!, { canonicalise: true })).toEqual(JSON.parse(block(first!.section, 'json canonical')!));
  });

  it.each(fixtures)('JS-170: canonicalising $name neither fails nor loses what was written', (fixture) => {
    const canonical = parsed(fixture, { canonicalise: true });
    expect(canonical['ID']).toBe(fixture.json['ID']);
  });
});
