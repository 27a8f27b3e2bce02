import { expect, it } from 'vitest';
import { TXN_TYPES } from './catalogue.js';

it('ST-8: the numbers are those that stand in every log and in every archive', () => {
  const numbers = Object.entries(TXN_TYPES).map(([type, { number }]) => [type, number]);
  expect(Object.fromEntries(numbers)).toEqual({
    NodeRegister: 0,
    NodeDeregister: 1,
    NodeUpdateStatus: 2,
    NodeUpdateDrain: 3,
    JobRegister: 4,
    JobDeregister: 5,
    EvalUpdate: 6,
    EvalDelete: 7,
    AllocClientUpdate: 9,
    ReconcileJobSummaries: 10,
    ApplyPlanResults: 13,
    DeploymentStatusUpdate: 14,
    DeploymentPromote: 15,
    DeploymentAllocHealth: 16,
    DeploymentDelete: 17,
    JobStability: 18,
    JobVersionTag: 61,
    ScalingEventRegister: 38,
    UpsertNodeEvents: 25,
    JobBatchDeregister: 26,
    AllocUpdateDesiredTransition: 27,
    NodeUpdateEligibility: 28,
    BatchNodeUpdateDrain: 29,
    SchedulerConfig: 30,
    NodeBatchDeregister: 31,
    ClusterMetadata: 32,
    CSIVolumeRegister: 35,
    CSIVolumeDeregister: 36,
    CSIVolumeClaim: 37,
    CSIVolumeClaimBatch: 39,
    CSIPluginDelete: 40,
    HostVolumeRegister: 75,
    HostVolumeDelete: 76,
    TaskGroupHostVolumeClaimDelete: 77,
    ServiceRegistrationUpsert: 47,
    ServiceRegistrationDeleteByID: 48,
    ServiceRegistrationDeleteByNodeID: 49,
    NodePoolUpsert: 59,
    NodePoolDelete: 60,
    NamespaceUpsert: 64,
    NamespaceDelete: 65,
    ACLPolicyUpsert: 19,
    ACLPolicyDelete: 20,
    ACLTokenUpsert: 21,
    ACLTokenDelete: 22,
    ACLTokenBootstrap: 23,
    OneTimeTokenUpsert: 44,
    OneTimeTokenDelete: 45,
    OneTimeTokenExpire: 46,
    ACLRolesUpsert: 53,
    ACLRolesDelete: 54,
    LeaseAcquired: 100,
    StateRestore: 101,
    Initialise: 127,
    Ignore: 128,
  });
  expect(new Set(numbers.map(([, number]) => number)).size).toBe(numbers.length);
});

it('ST-8: payloads have the schema version that writers put on today, 1 where none was ever changed', () => {
  const versions = Object.entries(TXN_TYPES).map(([type, { schemaVersion }]) => [type, schemaVersion] as const);
  expect(Object.fromEntries(versions.filter(([, version]) => version !== 1))).toEqual({
    EvalDelete: 3,
    AllocClientUpdate: 4,
    ApplyPlanResults: 5,
    DeploymentAllocHealth: 2,
    CSIVolumeClaim: 2,
    StateRestore: 3,
  });
});
