import { readFileSync } from 'node:fs';
import { encodeCSIPlugin, encodeCSIVolume } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { contractShapes } from './contract-shapes.fixture.js';
import { openApiDocument } from './document.js';

interface Schema {
  readonly properties?: Readonly<Record<string, unknown>>;
}

/** What Waybill adds begins so: no client can mean something else by it. */
const OURS = /^Waybill/;

const text = readFileSync(new URL('../../../../docs/reference/http-api-shapes.md', import.meta.url), 'utf8');
const contract = contractShapes(text);
const document = openApiDocument() as { components: { schemas: Record<string, Schema> } };
const { schemas } = document.components;
const described = [...contract].flatMap(([name, members]) => {
  const properties = schemas[name]?.properties;
  return properties ? [{ name, members, own: new Set(Object.keys(properties)) }] : [];
});

it('reads the contract: tables, braces and lists', () => {
  expect(described.length).toBeGreaterThan(45);
  for (const name of ['Job', 'Task', 'Allocation', 'AllocListStub', 'Node', 'NodeListStub', 'Deployment', 'Evaluation'])
    expect(contract.get(name)?.size, name).toBeGreaterThan(15);
  expect(contract.get('NodeListStub')).toContain('ReservedResources');
  expect(contract.get('TaskEvent')).toContain('FailsTask');
});

it.each(described)('API-712: $name: nothing is renamed or left out, and what is added is marked as ours', (shape) => {
  const { members, own } = shape;
  expect(
    [...members].filter((member) => !own.has(member)),
    'left out',
  ).toEqual([]);
  expect(
    [...own].filter((member) => !members.has(member) && !OURS.test(member)),
    'added',
  ).toEqual([]);
});

describe('maps by allocation or node', () => {
  const named = [...text.matchAll(/(\w+) \{(?:allocID|nodeID):/g)].map(([, name]) => name ?? '');
  const ajv = new Ajv2020({ strict: false, validateFormats: false }).addSchema({ $id: 'api', ...document });
  const takes = (name: string, key: string, shown: object): boolean =>
    ajv.validate({ $ref: `api#/components/schemas/${name}` }, JSON.parse(JSON.stringify(shown).replaceAll('KEY', key)));
  const [claims, instances] = [{ KEY: fixtures.aCSIClaim() }, { KEY: fixtures.aNodePlugin() }];
  const volume = (over: object) => encodeCSIVolume(fixtures.aCSIVolume(over), undefined);
  const plugin = (over: object) => encodeCSIPlugin(fixtures.aCSIPlugin(over), null);

  it.each([
    ['CSIVolume', 'ReadAllocs', volume({ ReadClaims: claims })],
    ['CSIVolume', 'WriteAllocs', volume({ WriteClaims: claims })],
    ['CSIPlugin', 'Controllers', plugin({ Controllers: instances })],
    ['CSIPlugin', 'Nodes', plugin({ Nodes: instances })],
  ])('API-714: of a %s, %s, have full lower-case UUIDs as keys, and nothing else', (name, map, shown) => {
    expect(named).toContain(map);
    expect(named).toHaveLength(4);
    const id = '0f3c6f0a-91d2-4b7e-8c55-3a1be0d7c9f4';
    expect(takes(name, id, shown), ajv.errorsText()).toBe(true);
    for (const other of [id.toUpperCase(), id.replace('f', 'F'), id.slice(0, 8), '7'])
      expect(takes(name, other, shown), other).toBe(false);
  });
});
