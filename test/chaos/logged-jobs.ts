import { connect, Journal } from '@waybill/journal';
import type { Txn } from '@waybill/state';

/** Reads the log itself: by index, the job that the transaction there registers or stops. */
export async function loggedJobs(natsUrl: string): Promise<Map<number, string>> {
  const jobs = new Map<number, string>();
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

function jobOf(txn: Txn): string | undefined {
  if (txn.type === 'JobRegister') return txn.payload.Job.ID;
  return txn.type === 'JobDeregister' ? txn.payload.JobID : undefined;
}
