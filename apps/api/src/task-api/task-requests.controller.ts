import { Controller } from '@nestjs/common';
import { Payload } from '@nestjs/microservices';
import { Answers, type TaskApiAnswer, type TaskApiRequest, taskRequest } from '@waybill/rpc';
import { TaskRequests } from './task-requests.js';

/** The controller of tasks' requests, which their machines forward. */
@Controller()
export class TaskRequestsController {
  constructor(private readonly requests: TaskRequests) {}

  @Answers(taskRequest)
  answer(@Payload() request: TaskApiRequest): Promise<TaskApiAnswer> {
    return this.requests.answer(request);
  }
}
