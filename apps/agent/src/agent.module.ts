import { type DynamicModule, Module } from '@nestjs/common';
import { AgentController } from './agent.controller.js';
import { TaskLogs } from './task-logs.js';

@Module({})
export class AgentModule {
  static of(logs: TaskLogs): DynamicModule {
    return {
      module: AgentModule,
      controllers: [AgentController],
      providers: [{ provide: TaskLogs, useValue: logs }],
    };
  }
}
