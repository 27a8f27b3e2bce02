import { type DynamicModule, Module } from '@nestjs/common';
import { NodeIdentityCheck } from '@waybill/service';
import { AllocQueries } from './allocations/alloc-queries.js';
import { AllocUpdates } from './allocations/alloc-updates.js';
import { DrainCommands } from './drain/drain-commands.js';
import { Heartbeats } from './heartbeats/heartbeats.js';
import { IdentitySigning } from './identities/identity-signing.js';
import { NodeCommands } from './node/node-commands.js';
import { NodeEvents } from './node/node-events.js';
import { AllocationsController } from './allocations/allocations.controller.js';
import { ServicesController } from './allocations/services.controller.js';
import { DrainController } from './drain/drain.controller.js';
import { IdentitiesController } from './identities/identities.controller.js';
import { NodeController } from './node/node.controller.js';
import { VariablesController } from './variables/variables.controller.js';
import { PreviousDisks } from './allocations/previous-disks.js';
import { Registration } from './node/registration.js';
import { UserRightsController } from './node/user-rights.controller.js';
import { UserRightsQueries } from './node/user-rights-queries.js';
import { ServiceQueries } from './allocations/service-queries.js';
import { VariableQueries } from './variables/variable-queries.js';
import { ServiceRegistrations } from './allocations/service-registrations.js';

export interface NodesParts {
  readonly registration: Registration;
  readonly heartbeats: Heartbeats;
  readonly queries: AllocQueries;
  readonly updates: AllocUpdates;
  readonly events: NodeEvents;
  readonly commands: NodeCommands;
  readonly drains: DrainCommands;
  readonly services: ServiceRegistrations;
  readonly serviceQueries: ServiceQueries;
  readonly disks: PreviousDisks;
  readonly identities: IdentitySigning;
  readonly identityCheck: NodeIdentityCheck;
  readonly variables: VariableQueries;
  readonly userRights: UserRightsQueries;
}

@Module({})
export class NodesModule {
  static of(parts: NodesParts): DynamicModule {
    return {
      module: NodesModule,
      controllers: [
        NodeController,
        DrainController,
        AllocationsController,
        ServicesController,
        IdentitiesController,
        VariablesController,
        UserRightsController,
      ],
      providers: [
        { provide: Registration, useValue: parts.registration },
        { provide: Heartbeats, useValue: parts.heartbeats },
        { provide: AllocQueries, useValue: parts.queries },
        { provide: AllocUpdates, useValue: parts.updates },
        { provide: NodeEvents, useValue: parts.events },
        { provide: NodeCommands, useValue: parts.commands },
        { provide: DrainCommands, useValue: parts.drains },
        { provide: ServiceRegistrations, useValue: parts.services },
        { provide: ServiceQueries, useValue: parts.serviceQueries },
        { provide: PreviousDisks, useValue: parts.disks },
        { provide: NodeIdentityCheck, useValue: parts.identityCheck },
        { provide: IdentitySigning, useValue: parts.identities },
        { provide: VariableQueries, useValue: parts.variables },
        { provide: UserRightsQueries, useValue: parts.userRights },
      ],
    };
  }
}
