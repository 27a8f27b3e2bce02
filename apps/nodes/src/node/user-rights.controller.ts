import { Controller } from '@nestjs/common';
import { Payload } from '@nestjs/microservices';
import { Answers, userMay, type UserMayRequest, type UserMayResponse } from '@waybill/rpc';
import { MachineCredentialPipe } from '@waybill/service';
import { UserRightsQueries } from './user-rights-queries.js';

/** Answers agents who check the user of a call. */
@Controller()
export class UserRightsController {
  constructor(private readonly queries: UserRightsQueries) {}

  @Answers(userMay)
  userMay(@Payload(MachineCredentialPipe) request: UserMayRequest): Promise<UserMayResponse> {
    return this.queries.userMay(request);
  }
}
