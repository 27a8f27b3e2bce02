import { type DynamicModule, Module } from '@nestjs/common';
import { AccessModule } from './access/access.module.js';
import { AclModule } from './acl/acl.module.js';
import { AllocationsModule } from './allocations/allocations.module.js';
import type { ApiCore } from './api-core.js';
import { AuditModule } from './audit/audit.module.js';
import { ClientModule } from './client/client.module.js';
import { ClusterModule } from './cluster/cluster.module.js';
import { CoreModule } from './core.module.js';
import { DeploymentsModule } from './deployments/deployments.module.js';
import { EvaluationsModule } from './evaluations/evaluations.module.js';
import { EventsModule } from './events/events.module.js';
import { HistoryModule } from './history/history.module.js';
import { JobsModule } from './jobs/jobs.module.js';
import type { KnownPaths } from './http/known-paths.js';
import { KeyringModule } from './keyring/keyring.module.js';
import { LoginsModule } from './logins/logins.module.js';
import { MetricsModule } from './metrics/metrics.module.js';
import { NamespacesModule } from './namespaces/namespaces.module.js';
import { NodesModule } from './nodes/nodes.module.js';
import { OpenApiModule } from './openapi/openapi.module.js';
import { OperatorModule } from './operator/operator.module.js';
import { ScalingModule } from './scaling/scaling.module.js';
import { SearchModule } from './search/search.module.js';
import { ServicesModule } from './services/services.module.js';
import { SystemModule } from './system/system.module.js';
import { UiModule } from './ui/ui.module.js';
import { VariablesModule } from './variables/variables.module.js';
import { VolumesModule } from './volumes/volumes.module.js';

/** RESOURCES has one module per resource. The folder of a resource contains its routes and their parts. */
export const RESOURCES = [
  AccessModule,
  AclModule,
  AllocationsModule,
  AuditModule,
  ClientModule,
  ClusterModule,
  DeploymentsModule,
  EvaluationsModule,
  EventsModule,
  HistoryModule,
  JobsModule,
  KeyringModule,
  LoginsModule,
  MetricsModule,
  NamespacesModule,
  NodesModule,
  OpenApiModule,
  OperatorModule,
  SearchModule,
  ServicesModule,
  ScalingModule,
  SystemModule,
  UiModule,
  VariablesModule,
  VolumesModule,
];

@Module({})
export class ApiModule {
  static of(core: ApiCore, paths: KnownPaths): DynamicModule {
    return { module: ApiModule, imports: [CoreModule.of(core, paths), ...RESOURCES] };
  }
}
