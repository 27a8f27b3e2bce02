import { serverFailure } from '../http/api-error.js';
import { Controller, Get, Post, Put, Req, Res } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { operatorRead, operatorWrite } from '../access/needs.js';
import { ReadModel } from '@waybill/projection';
import { Reads } from '../http/reads.js';
import { type ApiReply, type ApiRequest, sendJson, setWriteIndex } from '../http/reply.js';
import { Requester } from '../http/requester.js';
import { readSchedulerConfiguration } from './scheduler-configuration-request.js';
import { SetSchedulerConfiguration } from './set-scheduler-configuration.js';

/** The controller of `/v1/operator/scheduler/configuration` (operator.md section 2). */
@Controller('v1/operator/scheduler/configuration')
export class SchedulerConfigurationController {
  constructor(
    private readonly model: ReadModel,
    private readonly reads: Reads,
    private readonly setConfiguration: SetSchedulerConfiguration,
  ) {}

  @Get()
  @Needs(operatorRead)
  async readConfiguration(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    await this.reads.answer(request, reply, [['scheduler_config', '*']], async () => {
      const { index, row } = await this.model.schedulerConfiguration();
      if (!row) throw serverFailure('scheduler config not initialized yet');
      return { index, value: { SchedulerConfig: row, Index: index, LastContact: 0, KnownLeader: true, NextToken: '' } };
    });
  }

  @Put()
  @Needs(operatorWrite)
  put(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.applyConfiguration(request, reply);
  }

  @Post()
  @Needs(operatorWrite)
  post(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.applyConfiguration(request, reply);
  }

  private async applyConfiguration(request: ApiRequest, reply: ApiReply): Promise<void> {
    const wanted = readSchedulerConfiguration(request.body, request.query);
    const answer = await this.setConfiguration.replaceConfiguration(wanted, Requester.of(request));
    setWriteIndex(reply, answer.Index);
    sendJson(request, reply, answer);
  }
}
