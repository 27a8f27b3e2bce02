import { type DynamicModule, Module } from '@nestjs/common';
import { AgentController } from './agent.controller.js';
import { AllocActions } from './allocations/allocation-actions.js';
import type { CsiHost } from './volumes/csi/csi-host.js';
import { CsiModule } from './volumes/csi/csi.module.js';
import { ExecController } from './tasks/exec/exec.controller.js';
import { ExecSessions } from './tasks/exec/exec-sessions.js';
import { AllocFiles } from './allocations/files/allocation-files.js';
import type { HostVolumes } from './volumes/host/host-volumes.js';
import { HostVolumesModule } from './volumes/host/host-volumes.module.js';
import { LogReaders } from './machine/agent-log/log-readers.js';
import { LogReadersController } from './machine/agent-log/log-readers.controller.js';
import { TaskLogs } from './tasks/logs/task-logs.js';

@Module({})
export class AgentModule {
  static of(
    logs: TaskLogs,
    files: AllocFiles,
    actions: AllocActions,
    csi: CsiHost,
    hostVolumes: HostVolumes,
    nodeMeta: DynamicModule,
    metrics: DynamicModule,
    exec: ExecSessions,
    logReaders: LogReaders,
  ): DynamicModule {
    return {
      module: AgentModule,
      imports: [CsiModule.of(csi), HostVolumesModule.of(hostVolumes), nodeMeta, metrics],
      controllers: [AgentController, ExecController, LogReadersController],
      providers: [
        { provide: TaskLogs, useValue: logs },
        { provide: AllocFiles, useValue: files },
        { provide: AllocActions, useValue: actions },
        { provide: ExecSessions, useValue: exec },
        { provide: LogReaders, useValue: logReaders },
      ],
    };
  }
}
