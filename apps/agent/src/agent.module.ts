import { type DynamicModule, Module } from '@nestjs/common';
import { AgentController } from './agent.controller.js';
import { AllocActions } from './alloc-actions.js';
import { AllocFiles } from './files/alloc-files.js';
import { TaskLogs } from './task-logs.js';

@Module({})
export class AgentModule {
  static of(logs: TaskLogs, files: AllocFiles, actions: AllocActions): DynamicModule {
    return {
      module: AgentModule,
      controllers: [AgentController],
      providers: [
        { provide: TaskLogs, useValue: logs },
        { provide: AllocFiles, useValue: files },
        { provide: AllocActions, useValue: actions },
      ],
    };
  }
}
