import { expect, it } from 'vitest';
import { entities } from '../database/entities.js';
import { ALL_TABLES } from './rebuild.js';

it('a rebuild empties every table that there is, each once', () => {
  expect(ALL_TABLES.toSorted()).toEqual(entities.map(({ options }) => options.tableName ?? '').toSorted());
});
