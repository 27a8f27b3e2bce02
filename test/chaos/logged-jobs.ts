import { connect, Journal } from '@waybill/journal';
import type { Txn } from '@waybill/state';
import type { Logged } from './history.js';
import { markOf } from './users.js';

/** Reads the log itself: by index, the job that the transaction there registers or stops. */
export async function loggedJobs(natsUrl: string): Promise<Map<number, Logged>> {
  const jobs = new Map<number, Logged>();
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
            if (txn.index >= last) resolve();
          }
        },
        onError: reject,
      });
      following.catch(reject);
    });
    return jobs;
  } finally {
    journal.close();
    await link.close();
  }
}

function jobOf(txn: Txn): Logged | undefined {
  if (txn.type === 'JobRegister') return { job: txn.payload.Job.ID, mark: markOf(txn.payload.Job) };
  return txn.type === 'JobDeregister' ? { job: txn.payload.JobID, mark: undefined } : undefined;
}
