import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { CurrentJobs } from './current-jobs.js';

const OLD = fixtures.aJob({ ID: 'web', Version: 1 });
const NEW = fixtures.aJob({ ID: 'web', Version: 2 });

/** The log's last transaction about the job has the index 7. The read model shows it once it has reached that. */
function setup(applied: number) {
  const asked: string[] = [];
  let readTo = applied;
  const jobs = new CurrentJobs(
    {
      lastSequence: async (subject) => {
        asked.push(subject);
        return 7;
      },
    },
    {
      job: async () => {
        asked.push('read');
        return readTo >= 7 ? NEW : OLD;
      },
      applied: () => readTo,
      readable: async (index) => {
        asked.push(`wait for ${index}`);
        readTo = index;
      },
    },
  );
  return { jobs, asked };
}

describe('the current job', () => {
  it('API-56: is read while the log is asked, and once only if the read model has its last transaction', async () => {
    const { jobs, asked } = setup(7);
    const reading = jobs.job('default', 'web');
    expect(asked).toEqual([expect.stringMatching(/^TXN\.job\./), 'read']); // before either has answered
    expect(await reading).toEqual({ row: NEW, sequence: 7 });
    expect(asked).toHaveLength(2);
  });

  it('API-56: is read again if the read model was behind its last transaction when the first read began', async () => {
    const { jobs, asked } = setup(6);
    expect(await jobs.job('default', 'web')).toEqual({ row: NEW, sequence: 7 });
    expect(asked.slice(1)).toEqual(['read', 'wait for 7', 'read']);
  });

  it('can be waited for without being read', async () => {
    const behind = setup(6);
    expect(await behind.jobs.awaitReadable('default', 'web')).toBe(7);
    expect(behind.asked.slice(1)).toEqual(['wait for 7']);
    const current = setup(7);
    expect(await current.jobs.awaitReadable('default', 'web')).toBe(7);
    expect(current.asked).toHaveLength(1);
  });
});
