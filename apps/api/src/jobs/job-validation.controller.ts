import { Controller, Post, Put, Req, Res } from '@nestjs/common';
import { formatErrors, formatWarnings } from '@waybill/model';
import { Needs } from '../access/needs.decorator.js';
import { inBody } from '../access/needs.js';
import { readJsonBody } from '../http/body.js';
import { type ApiReply, type ApiRequest, sendJson } from '../http/reply.js';
import type { TaskConfigFault } from './driver-configurations.js';
import { JobAdmission } from './job-admission.js';
import { RegisterRequests } from './register-request.js';

/** JobValidateResponse is the answer of `/v1/validate/job`. */
export interface JobValidateResponse {
  readonly DriverConfigValidated: boolean;
  readonly ValidationErrors: readonly string[] | null;
  readonly Error: string;
  readonly Warnings: string;
  readonly Index: number;
  /** The faults of `config` blocks with their places (PG-42); absent if there are none. */
  readonly ConfigFaults?: readonly TaskConfigFault[];
}

/**
 * The controller of `/v1/validate/job`, which returns the errors that a registration would return, and writes nothing.
 */
@Controller('v1/validate')
export class JobValidationController {
  constructor(
    private readonly requests: RegisterRequests,
    private readonly admission: JobAdmission,
  ) {}

  @Put('job')
  @Needs(inBody('read-job'))
  put(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.validate(request, reply);
  }

  @Post('job')
  @Needs(inBody('read-job'))
  post(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.validate(request, reply);
  }

  /** Answers an invalid job with its errors; the request itself does not fail (API-181). */
  private async validate(request: ApiRequest, reply: ApiReply): Promise<void> {
    const wanted = this.requests.readValidation(readJsonBody(request.body));
    request.access.inNamespace(wanted.Job.Namespace);
    const { errors, warnings, configFaults } = await this.admission.validate(wanted.Job);
    sendJson(request, reply, {
      DriverConfigValidated: true,
      ValidationErrors: errors.length > 0 ? errors : null,
      Error: formatErrors(errors),
      Warnings: formatWarnings([...wanted.warnings, ...warnings]),
      ...(configFaults.length > 0 && { ConfigFaults: configFaults }),
      Index: 0, // nothing was written
    } satisfies JobValidateResponse);
  }
}
