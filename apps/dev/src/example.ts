import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

const EXAMPLE = fileURLToPath(new URL('../../../examples/hello.nomad.json', import.meta.url));
const RUNNING_TIMEOUT_MS = 30_000;

interface AllocationStub {
  readonly ID: string;
  readonly ClientStatus: string;
}

/** Registers the example unless a job of that name is there already: it is the user's then, also when it was stopped. */
export async function registerExample(api: string): Promise<'registered' | 'kept' | 'stopped'> {
  const found = await fetch(`${api}/v1/job/hello`);
  if (found.status === 200) return ((await found.json()) as { Stop: boolean }).Stop ? 'stopped' : 'kept';
  const answer = await fetch(`${api}/v1/jobs`, { method: 'PUT', body: await readFile(EXAMPLE) });
  if (!answer.ok) throw new Error(`the example was refused: ${answer.status} ${await answer.text()}`);
  return 'registered';
}

/** Waits until the example runs, by blocking queries; undefined if it does not within RUNNING_TIMEOUT_MS. */
export async function runningExample(api: string): Promise<AllocationStub | undefined> {
  const until = Date.now() + RUNNING_TIMEOUT_MS;
  for (let index = 1; Date.now() < until;) {
    const answer = await fetch(`${api}/v1/job/hello/allocations?index=${index}&wait=2s`);
    if (!answer.ok) return undefined;
    index = Math.max(1, Number(answer.headers.get('x-nomad-index'))); // 0 would not block: nothing is placed yet
    const found = ((await answer.json()) as AllocationStub[]).find((a) => a.ClientStatus === 'running');
    if (found) return found;
  }
  return undefined;
}
