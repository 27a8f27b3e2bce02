import { type DynamicModule, Module } from '@nestjs/common';
import { AgentController } from './agent.controller.js';
import { AllocActions } from './allocs/alloc-actions.js';
import type { CsiHost } from './csi/csi-host.js';
import { CsiModule } from './csi/csi.module.js';
import { ExecController } from './exec/exec.controller.js';
import { ExecSessions } from './exec/exec-sessions.js';
import { AllocFiles } from './files/alloc-files.js';
import type { HostVolumes } from './host-volumes/host-volumes.js';
import { HostVolumesModule } from './host-volumes/host-volumes.module.js';
import { LogReaders } from './log-readers/log-readers.js';
import { LogReadersController } from './log-readers/log-readers.controller.js';
import { TaskLogs } from './logs/task-logs.js';

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
