import { Controller } from '@nestjs/common';
import { Payload } from '@nestjs/microservices';
import { Answers, type TaskApiAnswer, type TaskApiRequest, taskRequest } from '@waybill/rpc';
import { TaskRequests } from './task-requests.js';

/** Answers the requests of tasks, which come by way of their machines. */
@Controller()
export class TaskRequestsController {
  constructor(private readonly requests: TaskRequests) {}

  @Answers(taskRequest)
  answer(@Payload() request: TaskApiRequest): Promise<TaskApiAnswer> {
    return this.requests.answer(request);
  }
}
