import { fixtures } from '@waybill/state';
import { expect, it } from 'vitest';
import { largestParts } from './largest-parts.js';

it('PG-7: the largest parts of a node are named', () => {
  const node = fixtures.aNode({ Meta: { long: 'x'.repeat(50_000) }, Attributes: { long: 'x'.repeat(90_000) } });
  const Instances = [{ ID: 'x'.repeat(70_000), Healthy: true, HealthDescription: '', Locality: null }];
  const Devices = [{ Vendor: 'v', Type: 't', Name: 'n', Instances, Attributes: null }];
  const parts = largestParts({ ...node, NodeResources: { ...node.NodeResources, Devices } });
  expect(Object.keys(parts)).toEqual(['Attributes', 'Devices', 'Meta']);
  expect(parts['Attributes']).toBe(90_000 + '{"long":""}'.length);
});
