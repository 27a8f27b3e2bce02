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
import { MachineCredential } from './machine/identity/machine-credential.js';
import { NodeIdentityController } from './machine/identity/node-identity.controller.js';
import { TaskAnswers } from './tasks/api-socket/task-answers.js';
import { TaskAnswersController } from './tasks/api-socket/task-answers.controller.js';
import { TaskLogs } from './tasks/logs/task-logs.js';

/** The parts that answer calls to this machine. */
export interface AgentModuleParts {
  readonly logs: TaskLogs;
  readonly files: AllocationFiles;
  readonly actions: AllocationActions;
  readonly csi: CsiHost;
  readonly hostVolumes: HostVolumes;
  readonly nodeMeta: DynamicModule;
  readonly metrics: DynamicModule;
  readonly exec: RemoteExec;
  readonly logReaders: AgentLogReaders;
  readonly taskAnswers: TaskAnswers;
  readonly credential: MachineCredential;
}

@Module({})
export class AgentModule {
  static of(parts: AgentModuleParts): DynamicModule {
    const { logs, files, actions, csi, hostVolumes, nodeMeta, metrics, exec, logReaders, taskAnswers, credential } =
      parts;
    return {
      module: AgentModule,
      imports: [CsiModule.of(csi), HostVolumesModule.of(hostVolumes), nodeMeta, metrics],
      controllers: [
        AgentController,
        ExecController,
        AgentLogReadersController,
        TaskAnswersController,
        NodeIdentityController,
      ],
      providers: [
        { provide: TaskLogs, useValue: logs },
        { provide: AllocationFiles, useValue: files },
        { provide: AllocationActions, useValue: actions },
        { provide: RemoteExec, useValue: exec },
        { provide: AgentLogReaders, useValue: logReaders },
        { provide: TaskAnswers, useValue: taskAnswers },
        { provide: MachineCredential, useValue: credential },
      ],
    };
  }
}
