import { expect, it } from 'vitest';
import { contractTypes } from './contract-types.mjs';

it('writes a type for each schema that an answer needs, and the answer of each operation', () => {
  const schemas = {
    Job: {
      type: 'object',
      properties: { ID: { type: 'string' }, Old: { anyOf: [{ $ref: '#/components/schemas/Job' }, { type: 'null' }] } },
      required: ['ID'],
    },
    Unneeded: { type: 'object' },
  };
  const answer = { type: 'array', items: { $ref: '#/components/schemas/Job' } };
  const text = contractTypes({
    paths: { '/v1/jobs': { get: { responses: { '200': { content: { 'application/json': { schema: answer } } } } } } },
    components: { schemas },
  });
  expect(text).toContain('export type Job = { readonly ID: string; readonly Old?: Job | null; };');
  expect(text).toContain("'GET /v1/jobs': readonly Job[];");
  expect(text).not.toContain('Unneeded');
});
