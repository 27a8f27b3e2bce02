import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { LocalApi } from './local-api.js';

const EXAMPLE = fileURLToPath(new URL('../../../examples/hello.nomad.json', import.meta.url));
const RUNNING_TIMEOUT_MS = 30_000;

interface AllocationStub {
  readonly ID: string;
  readonly ClientStatus: string;
}

/** Registers the example unless a job of that name exists. Such a job is the user's, even if it was stopped. */
export async function registerExample(api: LocalApi): Promise<'registered' | 'kept' | 'stopped'> {
  const found = await api.request('/v1/job/hello');
  if (found.status === 200) return (JSON.parse(found.body) as { Stop: boolean }).Stop ? 'stopped' : 'kept';
  const answer = await api.request('/v1/jobs', 'PUT', await readFile(EXAMPLE));
  if (answer.status !== 200) throw new Error(`the example was refused: ${answer.status} ${answer.body}`);
  return 'registered';
}

/**
 * Waits with blocking queries until the example runs. The result is undefined if it does not run within
 * RUNNING_TIMEOUT_MS.
 */
export async function runningExample(api: LocalApi): Promise<AllocationStub | undefined> {
  const until = Date.now() + RUNNING_TIMEOUT_MS;
  for (let index = 1; Date.now() < until;) {
    const answer = await api.request(`/v1/job/hello/allocations?index=${index}&wait=2s`);
    if (answer.status !== 200) return undefined;
    index = Math.max(1, answer.index); // 0 would not block: nothing is placed yet
    const found = (JSON.parse(answer.body) as AllocationStub[]).find((a) => a.ClientStatus === 'running');
    if (found) return found;
  }
  return undefined;
}
