import { fixtures } from '@waybill/state';
import { expect, it } from 'vitest';
import { inDeployment } from './in-deployment.js';

it('SC-243: an allocation has to become healthy in another deployment, and stays as it is in its own or in none', () => {
  const DeploymentStatus = { Healthy: true, Timestamp: null, Canary: false, ModifyIndex: 5 };
  const alloc = fixtures.anAlloc({ DeploymentID: 'first', DeploymentStatus });
  expect(inDeployment(alloc, 'second')).toMatchObject({ DeploymentID: 'second', DeploymentStatus: null });
  for (const id of ['first', '']) expect(inDeployment(alloc, id)).toBe(alloc);
});
