/** Objects as the API answers them, which several files of recorded answers play. */
export const EVAL = '6b4c1d2e-0000-4000-8000-000000000001';
export const ALLOC = '0f9e8d7c-0000-4000-8000-000000000002';
export const NODE = '1f3a9c2e-0000-4000-8000-000000000003';
export const DEPLOYMENT = 'a1b2c3d4-0000-4000-8000-000000000004';

/** The job of an allocation: one group with these tasks. */
export const tasks = (...names: string[]) => ({
  Version: 3,
  TaskGroups: [{ Name: 'cache', Tasks: names.map((Name) => ({ Name })) }],
});

/** The answer to a registration, and the one allocation it leads to. */
export const registered = { EvalID: EVAL, EvalCreateIndex: 9, JobModifyIndex: 9, Warnings: '', Index: 9 };
export const placed = {
  ID: ALLOC,
  EvalID: EVAL,
  NodeID: NODE,
  Namespace: 'default',
  TaskGroup: 'cache',
  JobVersion: 0,
  DesiredStatus: 'run',
  ClientStatus: 'pending',
  CreateIndex: 9,
};
/** One that succeeded. */
export const deployment = {
  ID: DEPLOYMENT,
  JobID: 'web',
  Namespace: 'default',
  JobVersion: 0,
  Status: 'successful',
  StatusDescription: 'Deployment completed successfully',
  TaskGroups: {
    cache: {
      DesiredTotal: 1,
      PlacedAllocs: 1,
      HealthyAllocs: 1,
      UnhealthyAllocs: 0,
      ProgressDeadline: 0,
      DesiredCanaries: 0,
    },
  },
};
