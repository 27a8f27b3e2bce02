import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { type AnySize, SHORT_RUN, SMALL_RUN } from './run-plan.js';
import { seedRange } from './seeds.js';

export const USAGE = `usage: npm run sim -- [--seed N | --seeds A..B | --minutes M] [--small] [--regions N] [--access | --keys] [--jobs N] [--mutation NAME] [--no-shrink]

  --seed N         one run; says what it came to
  --seeds A..B     these seeds, until one fails
  --minutes M      seeds nobody has tried, for this long, until one fails (default: 1)
  --small          fewer machines and actions, as in the test suite
  --regions N      1 or 2 of them in each run (default: 2 in every eighth seed)
  --access         with access control: users read with tokens, and no answer shows what they may not see
  --keys           with a keyring: clients use variables and locks while root keys are rotated and removed
  --jobs N         runs at once, each in a process of its own (default: one for each core); what is found is the same
  --mutation NAME  with a known bug switched on; a wrong name lists them
  --no-shrink      tell the story of the failed run as it is

exit code: 0 nothing failed, 1 a run failed (its story is printed), 2 the command line is wrong
`;

export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** What the command line asks for. */
export interface Wanted {
  readonly seeds: Iterable<number>;
  /** Real milliseconds; undefined: until the seeds are used up. */
  readonly forMs: number | undefined;
  readonly size: AnySize;
  readonly mutation: string | undefined;
  readonly shrinks: boolean;
  /** Runs at once. */
  readonly jobs: number;
}

/** @param fresh where to begin with seeds that nobody has tried @throws UsageError */
export function readCommandLine(args: readonly string[], fresh: number): Wanted {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seed: { type: 'string' },
      seeds: { type: 'string' },
      minutes: { type: 'string' },
      small: { type: 'boolean', default: false },
      regions: { type: 'string' },
      access: { type: 'boolean', default: false },
      keys: { type: 'boolean', default: false },
      jobs: { type: 'string' },
      mutation: { type: 'string' },
      'no-shrink': { type: 'boolean', default: false },
    },
  });
  if (values.access && values.keys) throw new UsageError('--access and --keys: one of them at a time');
  if (values.keys && values.regions === '2') throw new UsageError('--keys: runs have one region');
  const size = {
    ...(values.small ? SMALL_RUN : SHORT_RUN),
    ...regionsOf(values.regions),
    ...(values.access && { access: true }),
    ...(values.keys && { keys: true }),
  };
  const jobs = values.jobs === undefined ? availableParallelism() : wholeNumber('--jobs', values.jobs);
  if (jobs === 0) throw new UsageError('--jobs: somebody has to do it');
  const common = { size, mutation: values.mutation, shrinks: !values['no-shrink'], jobs };
  if (values.seed !== undefined) {
    const seed = wholeNumber('--seed', values.seed);
    return { ...common, seeds: [seed], forMs: undefined, jobs: 1 };
  }
  if (values.seeds !== undefined) {
    const [from = '', to = from] = values.seeds.split('..');
    return { ...common, seeds: seedRange(wholeNumber('--seeds', from), wholeNumber('--seeds', to)), forMs: undefined };
  }
  const minutes = Number(values.minutes ?? 1);
  if (!(minutes > 0)) throw new UsageError(`--minutes: ${values.minutes} is no number above 0`);
  return { ...common, seeds: seedRange(fresh, Number.MAX_SAFE_INTEGER), forMs: minutes * 60_000 };
}

function regionsOf(given: string | undefined): Pick<AnySize, 'regions'> {
  if (given === undefined) return {};
  if (given !== '1' && given !== '2') throw new UsageError(`--regions: "${given}" is neither 1 nor 2`);
  return { regions: given === '1' ? 1 : 2 };
}

function wholeNumber(option: string, text: string): number {
  const number = Number(text);
  if (text === '' || !Number.isInteger(number) || number < 0)
    throw new UsageError(`${option}: "${text}" is no whole number`);
  return number;
}
