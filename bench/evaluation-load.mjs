// Evaluations that change nothing, by the thousand: jobs that want no allocation, and a reader that sees each one end.
import { randomBytes, randomUUID } from 'node:crypto';
import { LogUnavailableError } from '@waybill/journal';
import { isTerminalEvaluation } from '@waybill/model';
import { draftTxn, fixtures, serviceActor } from '@waybill/state';

/** Transactions on their way at once. */
const IN_FLIGHT = 256;
/** Tries of one transaction, on a machine that is busy with other things too. */
const WRITES = 5;

/**
 * Writes transactions. One that the log does not confirm in time is written again: under the same request id it counts once.
 *
 * @param {import('@waybill/journal').Journal} journal
 */
export function publisher(journal) {
  /** @type {(type: any, payload: any, traceparent?: string) => Promise<import('@waybill/journal').Published>} */
  const publish = async (type, payload, traceparent) => {
    const draft = draftTxn(type, payload, {
      timeNs: Date.now() * 1e6,
      requestId: randomUUID(),
      actor: serviceActor('bench'),
      namespace: 'default',
      traceparent,
    });
    for (let left = WRITES; ; left -= 1)
      try {
        return await journal.publish(draft);
      } catch (error) {
        if (left === 1 || !(error instanceof LogUnavailableError)) throw error;
      }
  };
  return publish;
}

/**
 * Does the work for every item, many at once.
 *
 * @template T
 * @param {readonly T[]} items
 * @param {(item: T) => Promise<unknown>} work
 */
export async function inFlight(items, work, atOnce = IN_FLIGHT) {
  const rest = items.values();
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (const item of rest) await work(item);
    }),
  );
}

const jobId = (/** @type {number} */ n) => `noop-${n}`;

/** Registers jobs whose one group has a count of 0. @param {import('@waybill/journal').Journal} journal @param {number} count */
export async function registerNoopJobs(journal, count) {
  const publish = publisher(journal);
  const TaskGroups = [fixtures.aGroup({ Count: 0 })];
  await inFlight(
    Array.from({ length: count }, (_, n) => n),
    (n) => publish('JobRegister', fixtures.aRegistration(fixtures.aJob({ ID: jobId(n), TaskGroups }))),
  );
}

const newTrace = () => `00-${randomBytes(16).toString('hex')}-${randomBytes(8).toString('hex')}-01`;

/**
 * Commits one evaluation for each of `count` jobs, one transaction each.
 *
 * @param {import('@waybill/journal').Journal} journal
 * @param {number} count
 * @param {boolean} traced each has a trace of its own, as if somebody had asked for each
 */
export async function commitEvaluations(journal, count, traced = false) {
  const publish = publisher(journal);
  await inFlight(
    Array.from({ length: count }, (_, n) => n),
    (n) => {
      const CreateTime = Date.now() * 1e6;
      const evaluation = {
        ...fixtures.anEval({ ID: randomUUID(), JobID: jobId(n) }),
        CreateTime,
        ModifyTime: CreateTime,
      };
      return publish('EvalUpdate', { Evals: [evaluation] }, traced ? newTrace() : undefined);
    },
  );
}

/** Reads the log along and counts what has ended. What a deposed holder wrote late does not count. */
export class EvaluationCount {
  /** @type {Set<string>} */
  open = new Set();
  ended = 0;
  /** Epoch of the broker that wrote the last of them that ended. */
  epoch = 0;
  /** @type {(() => void)[]} */
  #waiting = [];
  /** @type {import('@waybill/journal').Follower | undefined} */
  #follower;

  /** @param {import('@waybill/journal').Journal} journal */
  async start(journal) {
    const { last } = await journal.bounds();
    this.#follower = await journal.follow({
      from: last + 1,
      onTxns: (batch) => {
        for (const txn of batch) if (txn.type === 'EvalUpdate') this.#take(txn);
        for (const look of this.#waiting) look();
      },
      onError: (error) => {
        throw error;
      },
    });
  }

  async stop() {
    await this.#follower?.stop();
  }

  /** Resolves as soon as a batch of the log makes it true. @param {() => boolean} condition @returns {Promise<void>} */
  when(condition) {
    return new Promise((resolve) => {
      const look = () => {
        if (!condition()) return;
        this.#waiting = this.#waiting.filter((other) => other !== look);
        resolve();
      };
      this.#waiting.push(look);
      look();
    });
  }

  /** @param {import('@waybill/state').Txn<'EvalUpdate'>} txn */
  #take({ payload, fence }) {
    for (const evaluation of payload.Evals) {
      if (!isTerminalEvaluation(evaluation)) this.open.add(evaluation.ID);
      else if ((fence?.epoch ?? 0) >= this.epoch && this.open.delete(evaluation.ID)) {
        this.ended += 1;
        this.epoch = fence?.epoch ?? 0;
      }
    }
  }
}
