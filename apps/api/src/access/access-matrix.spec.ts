import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { RESOURCES } from '../api.module.js';
import { accessMatrix } from './access-matrix.js';
import { declaredRoutes } from './declared-routes.decorator.js';

it('OP-170: docs/access-matrix.md says what the routes declare (npm run access-matrix writes it)', () => {
  const page = readFileSync(new URL('../../../../docs/access-matrix.md', import.meta.url), 'utf8');
  expect(page).toBe(accessMatrix(declaredRoutes(RESOURCES)));
});
