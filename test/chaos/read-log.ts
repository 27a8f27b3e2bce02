import { connect, Journal } from '@waybill/journal';
import type { Txn } from '@waybill/state';
import type { Logged } from './history.js';
import { markOf } from './users.js';

/** What the log itself says. */
export interface LogFacts {
  /** By index, the job that the transaction there registers or stops. */
  readonly jobs: ReadonlyMap<number, Logged>;
  /**
   * Allocations that a plan gave up because their machine was down or disconnected. A machine that comes back reports
   * what became of them, so their final status does not show it.
   */
  readonly givenUp: ReadonlySet<string>;
}

export async function readLog(natsUrl: string): Promise<LogFacts> {
  const jobs = new Map<number, Logged>();
  const givenUp = new Set<string>();
  const link = await connect({ url: natsUrl, name: 'chaos' });
  const journal = new Journal(link);
  try {
    const { last } = await journal.bounds();
    await new Promise<void>((resolve, reject) => {
      const following = journal.follow({
        from: 1,
        onTxns: (batch) => {
          for (const txn of batch) {
            const job = jobOf(txn);
            if (job !== undefined) jobs.set(txn.index, job);
            for (const id of givenUpBy(txn)) givenUp.add(id);
            if (txn.index >= last) resolve();
          }
        },
        onError: reject,
      });
      following.catch(reject);
    });
    return { jobs, givenUp };
  } finally {
    journal.close();
    await link.close();
  }
}

function jobOf(txn: Txn): Logged | undefined {
  if (txn.type === 'JobRegister') return { job: txn.payload.Job.ID, mark: markOf(txn.payload.Job) };
  return txn.type === 'JobDeregister' ? { job: txn.payload.JobID, mark: undefined } : undefined;
}

function givenUpBy(txn: Txn): readonly string[] {
  if (txn.type !== 'ApplyPlanResults') return [];
  const { AllocsStopped, AllocsUpdated } = txn.payload;
  return [...AllocsStopped, ...AllocsUpdated]
    .filter(({ ClientStatus }) => ClientStatus === 'lost' || ClientStatus === 'unknown')
    .map(({ ID }) => ID);
}
