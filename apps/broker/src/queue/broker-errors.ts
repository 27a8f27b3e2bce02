import { Refusal } from '@waybill/model';

/** The delivery an ack or nack names is gone: acked, nacked, flushed, or never made (EB-72). */
export class EvalNotFoundError extends Refusal {
  override readonly name = 'EvalNotFoundError';
  constructor(readonly evalId: string) {
    super('not-found', 'Evaluation ID not found');
  }
}

/** Somebody else works on the evaluation now (EB-73). */
export class TokenMismatchError extends Refusal {
  override readonly name = 'TokenMismatchError';
  constructor(readonly evalId: string) {
    super('conflict', 'Token does not match for Evaluation ID');
  }
}

/** Of a request made in the name of a delivery: nobody works on the evaluation (EB-87). */
export class NotOutstandingError extends Refusal {
  override readonly name = 'NotOutstandingError';
  constructor(readonly evalId: string) {
    super('conflict', 'evaluation is not outstanding');
  }
}

/** Of a request made in the name of a delivery: it is another one's (EB-87). */
export class StaleTokenError extends Refusal {
  override readonly name = 'StaleTokenError';
  constructor(readonly evalId: string) {
    super('conflict', 'evaluation token does not match');
  }
}

/** Housekeeping that this holder did not order (GC-7). */
export class NotOfThisTermError extends Refusal {
  override readonly name = 'NotOfThisTermError';
  constructor(readonly evalId: string) {
    super('conflict', 'housekeeping of another term');
  }
}
