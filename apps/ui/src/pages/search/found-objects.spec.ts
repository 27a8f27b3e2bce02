import { expect, it } from 'vitest';
import { foundObjects } from './found-objects.js';

it('leads to the page of each object, jobs first', () => {
  const found = foundObjects({
    evals: [{ ID: 'e1' }],
    nodes: [{ ID: 'rack-1', Scope: ['0123456789'] }],
    tasks: [{ ID: 'server', Scope: ['prod', 'a/b', 'web'] }],
    jobs: [{ ID: 'web', Scope: ['prod', 'web'] }],
    plugins: [{ ID: 'no page' }],
  });
  expect(found.map(({ kind, name, about, address }) => [kind, name, about, address])).toEqual([
    ['Job', 'web', 'prod', '/jobs/web@prod'],
    ['Task', 'server', 'of job a/b', '/jobs/a%2Fb@prod'],
    ['Machine', 'rack-1', '01234567', '/clients/0123456789'],
    ['Evaluation', 'e1', '', '/evaluations/e1'],
  ]);
});
