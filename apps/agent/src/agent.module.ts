import { type DynamicModule, Module } from '@nestjs/common';
import { AgentController } from './agent.controller.js';
import { AllocationActions } from './allocations/allocation-actions.js';
import type { CsiHost } from './volumes/csi/csi-host.js';
import { CsiModule } from './volumes/csi/csi.module.js';
import { ExecController } from './tasks/exec/exec.controller.js';
import { RemoteExec } from './tasks/exec/remote-exec.js';
import { AllocationFiles } from './allocations/files/allocation-files.js';
import type { HostVolumes } from './volumes/host/host-volumes.js';
import { HostVolumesModule } from './volumes/host/host-volumes.module.js';
import { AgentLogReaders } from './machine/agent-log/agent-log-readers.js';
import { AgentLogReadersController } from './machine/agent-log/agent-log-readers.controller.js';
import { TaskAnswers } from './tasks/api-socket/task-answers.js';
import { TaskAnswersController } from './tasks/api-socket/task-answers.controller.js';
import { TaskLogs } from './tasks/logs/task-logs.js';

@Module({})
export class AgentModule {
  static of(
    logs: TaskLogs,
    files: AllocationFiles,
    actions: AllocationActions,
    csi: CsiHost,
    hostVolumes: HostVolumes,
    nodeMeta: DynamicModule,
    metrics: DynamicModule,
    exec: RemoteExec,
    logReaders: AgentLogReaders,
    taskAnswers: TaskAnswers,
  ): DynamicModule {
    return {
      module: AgentModule,
      imports: [CsiModule.of(csi), HostVolumesModule.of(hostVolumes), nodeMeta, metrics],
      controllers: [AgentController, ExecController, AgentLogReadersController, TaskAnswersController],
      providers: [
        { provide: TaskLogs, useValue: logs },
        { provide: AllocationFiles, useValue: files },
        { provide: AllocationActions, useValue: actions },
        { provide: RemoteExec, useValue: exec },
        { provide: AgentLogReaders, useValue: logReaders },
        { provide: TaskAnswers, useValue: taskAnswers },
      ],
    };
  }
}
