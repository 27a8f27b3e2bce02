import { Controller } from '@nestjs/common';
import { Payload } from '@nestjs/microservices';
import { Answers, type TaskAnswerPiece, taskAnswerPiece } from '@waybill/rpc';
import { TaskAnswers } from './task-answers.js';

/** Receives pieces of answers to requests of this machine's tasks. */
@Controller()
export class TaskAnswersController {
  constructor(private readonly answers: TaskAnswers) {}

  @Answers(taskAnswerPiece)
  async takePiece(@Payload() piece: TaskAnswerPiece): Promise<null> {
    await this.answers.takePiece(piece);
    return null;
  }
}
