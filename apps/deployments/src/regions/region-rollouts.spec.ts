import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { progressHere } from './region-rollouts.js';

const named = (Registration: string | undefined) => ({
  Namespace: 'default',
  JobID: 'web',
  JobVersion: 3,
  Registration,
});

describe('what a region says of its part of a rollout', () => {
  it.each([
    ['first', 'first', 'running'],
    ['first', 'second', 'none'],
    [undefined, 'second', 'running'],
    ['first', undefined, 'running'],
  ])(
    'DP-1112, DP-1115: it has the version of registration %s, and is asked for that of %s: %s',
    (here, asked, Status) => {
      const { tables } = fixtures.aMachine();
      const deployment = fixtures.aDeployment({
        ...named(undefined),
        IsMultiregion: true,
        Status: 'running',
        ...(here && { Registration: here }),
      });
      tables.deployment.replace(deployment.ID, deployment);
      expect(progressHere(tables, named(asked))).toMatchObject({ Status });
    },
  );
});
