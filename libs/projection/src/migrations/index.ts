import { AddAccessControl1763755200000 } from './add-access-control.js';
import { AddAuthMethods1763762400000 } from './add-auth-methods.js';
import { AddFramed1763773200000 } from './add-framed.js';
import { AddHistory1763704800000 } from './add-history.js';
import { AddLogHashes1763758800000 } from './add-log-hashes.js';
import { AddNodeIntroductions1763776800000 } from './add-node-introductions.js';
import { AddPeriodicLaunches1763697600000 } from './add-periodic-launches.js';
import { AddReportingViews1763708400000 } from './add-reporting-views.js';
import { AddRefusalCodes1763751600000 } from './add-refusal-codes.js';
import { AddRootKeys1763766000000 } from './add-root-keys.js';
import { AddScalingEvents1763701200000 } from './add-scaling-events.js';
import { AddScalingPolicies1763719200000 } from './add-scaling-policies.js';
import { AddSetAside1763740800000 } from './add-set-aside.js';
import { AddStepTimes1763726400000 } from './add-step-times.js';
import { AddVariables1763769600000 } from './add-variables.js';
import { AddVolumes1763715600000 } from './add-volumes.js';
import { BoundReportedNumbers1763744400000 } from './bound-reported-numbers.js';
import { CreateTables1763690000000 } from './create-tables.js';
import { NarrowHistoryKeys1763722800000 } from './narrow-history-keys.js';
import { StoreBodiesUnread1763712000000 } from './store-bodies-unread.js';

/** Table in which the database records its migrations. */
export const MIGRATIONS_TABLE = 'schema_migrations';

/** Oldest first. Classes instead of file patterns, so nothing is searched on disk at run time. */
export const migrations = [
  CreateTables1763690000000,
  AddPeriodicLaunches1763697600000,
  AddScalingEvents1763701200000,
  AddHistory1763704800000,
  AddReportingViews1763708400000,
  StoreBodiesUnread1763712000000,
  AddVolumes1763715600000,
  AddScalingPolicies1763719200000,
  NarrowHistoryKeys1763722800000,
  AddStepTimes1763726400000,
  AddSetAside1763740800000,
  BoundReportedNumbers1763744400000,
  AddRefusalCodes1763751600000,
  AddAccessControl1763755200000,
  AddLogHashes1763758800000,
  AddAuthMethods1763762400000,
  AddRootKeys1763766000000,
  AddVariables1763769600000,
  AddFramed1763773200000,
  AddNodeIntroductions1763776800000,
];
