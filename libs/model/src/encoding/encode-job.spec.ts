import { expect, it } from 'vitest';
import { decodeJob } from '../jobs/decode-job.js';
import { encodeJobStub } from './encode-job.js';

it('a row of the list calls the template of dispatches parameterized, not what was dispatched', () => {
  const template = decodeJob({ ID: 'report', Type: 'batch', ParameterizedJob: {}, TaskGroups: [] });
  const dispatched = { ...template, ID: 'report/dispatch-1', ParentID: 'report', Dispatched: true };
  expect(encodeJobStub(template, null).ParameterizedJob).toBe(true);
  expect(encodeJobStub(dispatched, null).ParameterizedJob).toBe(false);
});
