import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { inOrder } from './in-order.js';
import type { Outcome } from './outcome.js';
import type { AnySize } from './run-plan.js';

/** What a member of the crew is told when it is hired. */
export interface Orders {
  readonly size: AnySize;
  readonly mutation: string | undefined;
}

export class MemberLostError extends Error {
  override readonly name = 'MemberLostError';
  constructor(seed: number, code: number | null) {
    super(`the process that ran seed ${seed} ended with ${code ?? 'a signal'}: npm run sim -- --jobs 1 --seed ${seed}`);
  }
}

/** Runs one seed at a time in a process of its own. */
class Member {
  private readonly process: ChildProcess;

  constructor(orders: Orders) {
    this.process = fork(fileURLToPath(new URL('crew-member.js', import.meta.url)), [JSON.stringify(orders)]);
  }

  /** @throws MemberLostError */
  async run(seed: number): Promise<Outcome> {
    const { process } = this;
    const heard = new AbortController();
    const { signal } = heard;
    const lost = (async (): Promise<never> => {
      if (process.exitCode === null) await once(process, 'exit', { signal });
      throw new MemberLostError(seed, process.exitCode);
    })();
    try {
      process.send(seed, () => {}); // one that is gone is heard of below
      const [outcome] = (await Promise.race([once(process, 'message', { signal }), lost])) as [Outcome];
      return outcome;
    } finally {
      lost.catch(() => {});
      heard.abort();
    }
  }

  dismiss(): void {
    this.process.kill();
  }
}

/** Runs seeds in `jobs` processes at once; whoever stops listening ends them. @throws MemberLostError */
export async function* outcomesOf(seeds: Iterable<number>, jobs: number, orders: Orders): AsyncGenerator<Outcome> {
  const crew = Array.from({ length: jobs }, () => new Member(orders));
  try {
    yield* inOrder(
      seeds,
      crew.map((member) => (seed) => member.run(seed)),
    );
  } finally {
    for (const member of crew) member.dismiss();
  }
}
