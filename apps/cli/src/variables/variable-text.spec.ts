import { parseVariable } from '@waybill/jobspec';
import { expect, it } from 'vitest';
import { parseExact } from '../terminal/exact-json.js';
import type { Variable } from './variable.js';
import { variableText } from './variable-text.js';

it('CL-852, CL-853: what is printed as HCL is read back as it was, digit for digit', async () => {
  const Items = { user: 'app', 'odd key': 'a"b\n', '${x}': '%{y} ${z} $${w}', ключ: 'é' };
  const text = `{"Namespace":"default","Path":"a/b","CreateIndex":7,"ModifyIndex":9007199254740991,"CreateTime":1700000000000000001,"ModifyTime":1700000000000000002,"Items":${JSON.stringify(Items)}}`;
  const answer = { value: JSON.parse(text) as Variable, exact: parseExact(text) };
  const hcl = await variableText('hcl', '', answer);
  expect(hcl).toContain('create_time  = 1700000000000000001');
  expect(parseVariable({ name: 'x', text: hcl ?? '' })).toMatchObject({
    Namespace: 'default',
    Path: 'a/b',
    ModifyIndex: 9_007_199_254_740_991,
    Items,
  });
});
