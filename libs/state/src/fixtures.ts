import { defaultSchedulerConfiguration } from '@waybill/model';
import { aVariable } from './fixtures/variables.js';
import { aBindingRule, aMethodConfig, anAuthMethod, aOneTimeToken, aPolicy, aRole, aToken } from './fixtures/access.js';
import { aRootKey } from './fixtures/keyring.js';
import { FIXTURE_TIME_NS, freshId, uuid } from './fixtures/identity.js';
import { aGroup, aJob, aNetwork, aScalingPolicy, aTask } from './fixtures/job.js';
import { aNamespace, aNode, aNodePool } from './fixtures/node.js';
import { aRandomLog } from './fixtures/random-log.js';
import { aStretchedLog } from './fixtures/stretched-log.js';
import {
  aCommittedPlan,
  aMachine,
  aPlan,
  aPlanResult,
  aRegisteredJob,
  aRegistration,
  aTxn,
  apply,
} from './fixtures/transaction.js';
import {
  aControllerPlugin,
  aCSIClaim,
  aCSIPlugin,
  aCSIVolume,
  aHostVolume,
  aNodePlugin,
  aTaskVolumeClaim,
  aVolumeRegistration,
  aVolumeRequest,
} from './fixtures/volumes.js';
import {
  aClientUpdate,
  aDeployment,
  aDeploymentState,
  anAlloc,
  anEval,
  aServiceRegistration,
} from './fixtures/work.js';

/** Complete canonical objects for tests, here and in other packages. Every call makes new objects with new ids. */
export const fixtures = {
  timeNs: FIXTURE_TIME_NS,
  uuid,
  freshId,
  aTask,
  aGroup,
  aJob,
  aNetwork,
  aScalingPolicy,
  aNode,
  anAlloc,
  anEval,
  aDeployment,
  aDeploymentState,
  aNamespace,
  aNodePool,
  aServiceRegistration,
  aVolumeRegistration,
  aVolumeRequest,
  aCSIVolume,
  aCSIClaim,
  aCSIPlugin,
  aNodePlugin,
  aControllerPlugin,
  aHostVolume,
  aTaskVolumeClaim,
  aToken,
  aPolicy,
  aRole,
  aOneTimeToken,
  aMethodConfig,
  anAuthMethod,
  aBindingRule,
  aRootKey,
  aVariable,
  aSchedulerConfiguration: defaultSchedulerConfiguration,
  aClientUpdate,
  aCommittedPlan,
  aPlan,
  aPlanResult,
  aRegistration,
  aTxn,
  aMachine,
  aRegisteredJob,
  aRandomLog,
  aStretchedLog,
  apply,
} as const;
