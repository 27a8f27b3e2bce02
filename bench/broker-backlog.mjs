// A broker with a backlog, and what a cycle costs it. As a program, `node bench/broker-backlog.mjs WAITING CYCLES` prints that
// in microseconds of CPU: a process of its own has a heap of its own, and its garbage can be left to its one thread.
import { randomUUID } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { EvalBroker } from '@waybill/broker';
import { newEvaluation } from '@waybill/model';
import { systemClock, systemTimers } from '@waybill/service';

export const EVALS_PER_JOB = 10;
export const PRIORITIES = [20, 50, 70, 90];
export const TYPES = ['service', 'batch', 'system', 'sysbatch'];
/** Cycles timed in one go; between two of them the backlog is filled up again, untimed. */
const CYCLES_PER_ROUND = 1_000;
/** Rounds before the first one that counts: the code is compiled by then. */
const WARM_UP_ROUNDS = 10;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc');

export function heapUsed() {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

/**
 * @param {number} job
 * @param {number} index
 * @param {Partial<import('@waybill/model').Evaluation>} more
 */
export function anEvaluation(job, index, more = {}) {
  return newEvaluation({
    ID: randomUUID(),
    Namespace: 'default',
    JobID: `job-${job}`,
    Type: TYPES[job % TYPES.length],
    Priority: PRIORITIES[(job >> 2) % PRIORITIES.length],
    TriggeredBy: 'job-register',
    CreateTime: 1_767_225_600e9,
    CreateIndex: index,
    ModifyIndex: index,
    ...more,
  });
}

/** A broker over rows of its own, and a way to add to its backlog. */
export class Backlog {
  rows = new Map();
  index = 0;

  /** @param {number} waiting */
  constructor(waiting) {
    this.jobs = Math.max(1, Math.floor(waiting / EVALS_PER_JOB));
    this.broker = new EvalBroker({
      clock: systemClock,
      timers: systemTimers,
      newId: randomUUID,
      random: Math.random,
      rows: { evaluation: (id) => this.rows.get(id), highestEvalIndex: () => this.index },
    });
    this.broker.setEnabled(true);
  }

  /** @param {number} job */
  evaluationOf(job) {
    this.index += 1;
    const evaluation = anEvaluation(job, this.index);
    this.rows.set(evaluation.ID, evaluation);
    return evaluation;
  }

  /**
   * One that has ended comes as a new one, so that no garbage of the benchmark is collected at the broker's expense.
   *
   * @param {import('@waybill/model').Evaluation} evaluation
   */
  again(evaluation) {
    this.index += 1;
    evaluation.CreateIndex = this.index;
    evaluation.ModifyIndex = this.index;
    return evaluation;
  }

  /** @param {number} waiting */
  fill(waiting) {
    for (let i = 0; i < waiting; i += 1) this.broker.enqueue(this.evaluationOf(i % this.jobs));
  }
}

/**
 * @param {number} waiting
 * @param {number} cycles
 */
async function microsecondsPerCycle(waiting, cycles) {
  const backlog = new Backlog(waiting);
  const { broker } = backlog;
  backlog.fill(waiting);
  collectGarbage();
  const perRound = Math.min(CYCLES_PER_ROUND, backlog.jobs);
  let micros = 0;
  let arriving = Array.from({ length: perRound }, (_, i) => backlog.evaluationOf((i * 7919) % backlog.jobs));
  for (let done = -WARM_UP_ROUNDS * perRound; done < cycles; done += perRound) {
    const ended = [];
    const before = process.cpuUsage();
    for (const evaluation of arriving) {
      broker.enqueue(evaluation);
      const delivery = await broker.dequeue(TYPES, 500);
      if (!delivery) throw new Error('nothing was ready');
      broker.ack(delivery.evaluation.ID, delivery.token);
      ended.push(delivery.evaluation);
    }
    const { user, system } = process.cpuUsage(before);
    if (done >= 0) micros += user + system;
    // What was superseded is canceled, and as many new ones arrive for the same jobs.
    const canceled = broker.superseded.takeBatch(Infinity);
    broker.superseded.forget(canceled.map((e) => e.ID));
    for (const evaluation of canceled) broker.enqueue(backlog.again(evaluation));
    arriving = ended.map((evaluation) => backlog.again(evaluation));
  }
  const { totalReady, totalPending } = broker.stats();
  if (Math.abs(totalReady + totalPending - waiting) > perRound * EVALS_PER_JOB) throw new Error('the backlog changed');
  broker.setEnabled(false);
  return micros / cycles;
}

if (process.argv[1] === import.meta.filename) {
  const [, , waiting, cycles] = process.argv;
  process.stdout.write(`${await microsecondsPerCycle(Number(waiting), Number(cycles))}\n`);
}
