import { Controller, Post, Put, Req, Res } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { inQuery } from '../access/needs.js';
import { readJsonBody } from '../http/body.js';
import { type ApiReply, type ApiRequest, sendJson } from '../http/reply.js';
import { JobParser } from './job-parser.transport.js';
import { readParseRequest } from './parse-request.js';

/**
 * The controller of `/v1/jobs/parse`, which converts a job file to the job that the other endpoints accept (API-180).
 */
@Controller('v1')
export class JobParseController {
  constructor(private readonly parser: JobParser) {}

  @Put('jobs/parse')
  @Needs(inQuery('parse-job', 'submit-job'))
  put(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.parse(request, reply);
  }

  @Post('jobs/parse')
  @Needs(inQuery('parse-job', 'submit-job'))
  post(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.parse(request, reply);
  }

  private async parse(request: ApiRequest, reply: ApiReply): Promise<void> {
    sendJson(request, reply, await this.parser.parse(readParseRequest(readJsonBody(request.body))));
  }
}
