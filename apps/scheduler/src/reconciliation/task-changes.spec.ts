import { decodeJob } from '@waybill/model';
import { expect, it } from 'vitest';
import { needsReplacement } from './task-changes.js';

const jobWith = (...Identities: object[]) =>
  decodeJob({ ID: 'web', TaskGroups: [{ Name: 'app', Tasks: [{ Name: 'main', Driver: 'exec', Identities }] }] });
const AWS = { Name: 'aws', Audience: ['sts'], TTL: 3_600e9 };

it('AU-129, SC-249: a changed identity replaces the allocation, an equal one does not', () => {
  expect(needsReplacement('app', jobWith(AWS), jobWith(AWS))).toBe(false);
  expect(needsReplacement('app', jobWith(AWS), jobWith({ ...AWS, TTL: 60e9 }))).toBe(true);
  expect(needsReplacement('app', jobWith(AWS), jobWith())).toBe(true);
  expect(needsReplacement('app', jobWith(), jobWith({ Env: true }))).toBe(true);
});
