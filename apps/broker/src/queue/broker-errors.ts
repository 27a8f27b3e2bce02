/** The delivery an ack or nack names is gone: acked, nacked, flushed, or never made (EB-72). */
export class EvalNotFoundError extends Error {
  override readonly name = 'EvalNotFoundError';
  constructor(readonly evalId: string) {
    super('Evaluation ID not found');
  }
}

/** Somebody else works on the evaluation now (EB-73). */
export class TokenMismatchError extends Error {
  override readonly name = 'TokenMismatchError';
  constructor(readonly evalId: string) {
    super('Token does not match for Evaluation ID');
  }
}

/** Of a request made in the name of a delivery: nobody works on the evaluation (EB-87). */
export class NotOutstandingError extends Error {
  override readonly name = 'NotOutstandingError';
  constructor(readonly evalId: string) {
    super('evaluation is not outstanding');
  }
}

/** Of a request made in the name of a delivery: it is another one's (EB-87). */
export class StaleTokenError extends Error {
  override readonly name = 'StaleTokenError';
  constructor(readonly evalId: string) {
    super('evaluation token does not match');
  }
}

/** Housekeeping that this holder did not order (GC-7). */
export class NotOfThisTermError extends Error {
  override readonly name = 'NotOfThisTermError';
  constructor(readonly evalId: string) {
    super('housekeeping of another term');
  }
}

/** Ends the dequeues that were waiting when the broker was disabled (EB-116). */
export class BrokerDisabledError extends Error {
  override readonly name = 'BrokerDisabledError';
  constructor() {
    super('eval broker disabled');
  }
}

export class PlanQueueDisabledError extends Error {
  override readonly name = 'PlanQueueDisabledError';
  constructor() {
    super('plan queue is disabled');
  }
}

export class PlanQueueFlushedError extends Error {
  override readonly name = 'PlanQueueFlushedError';
  constructor() {
    super('plan queue flushed');
  }
}

/** The plan cannot be judged or committed as it is; nothing of it was. */
export class PlanRefusedError extends Error {
  override readonly name = 'PlanRefusedError';
}

/** The job is none that can be launched; the text says why. */
export class LaunchRefusedError extends Error {
  override readonly name = 'LaunchRefusedError';
}

/** A request that breaks the protocol between worker and broker; the text is the contract's. */
export class BadRequestError extends Error {
  override readonly name = 'BadRequestError';
}
