import { expect, it } from 'vitest';
import { readSearch, writeSearch } from './address-search.js';

it('the query of an address is plain text, whatever stands in it', () => {
  const search = { search: 'a&b=1', status: 'true' };
  expect(writeSearch({ ...search, none: '', missing: undefined })).toBe('?search=a%26b%3D1&status=true');
  expect(readSearch('?search=a%26b%3D1&status=true')).toEqual(search);
  expect(writeSearch({})).toBe('');
});
