import { Controller } from '@nestjs/common';
import { Payload } from '@nestjs/microservices';
import { Answers, recordRoleEvents, type RoleEvent, type RoleEventsTaken } from '@waybill/rpc';
import { RoleRecords } from './role-records.js';

/** The controller of services that hand over events for the audit log. */
@Controller()
export class RoleRecordsController {
  constructor(private readonly records: RoleRecords) {}

  @Answers(recordRoleEvents)
  record(@Payload() events: readonly RoleEvent[]): Promise<RoleEventsTaken> {
    return this.records.take(events);
  }
}
