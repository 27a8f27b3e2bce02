import {
  MAX_LOCK_DELAY_NS,
  MAX_LOCK_TTL_NS,
  MAX_VARIABLE_ITEMS_BYTES,
  MAX_VARIABLE_PATH_CHARS,
  MIN_LOCK_TTL_NS,
} from '../limits/variable-limits.js';
import { Refusal } from '../refusal.js';

const PATH_CHARACTERS = /^[a-zA-Z0-9\-_~/]+$/;

/** Error for a path below the top-level part `nomad`, which is reserved. */
const WRITABLE_BELOW_NOMAD =
  '"nomad" is reserved: variables may be written at "nomad/jobs", "nomad/jobs/<job>[/<group>[/<task>]]" and elsewhere ' +
  'below "nomad/jobs", at "nomad/sentinel" and below, and at "nomad/job-templates/<template>"';

/** @throws Refusal invalid if no variable may have this path (OP-190) */
export function checkVariablePath(path: string): void {
  if (path === '') throw new Refusal('invalid', 'missing variable path');
  if (path.length > MAX_VARIABLE_PATH_CHARS || !PATH_CHARACTERS.test(path))
    throw new Refusal('invalid', `invalid path ${JSON.stringify(path)}`);
  const [top, second, third, ...more] = path.split('/');
  if (top !== 'nomad' || second === 'jobs' || second === 'sentinel') return;
  if (second === 'job-templates' && third && more.length === 0) return;
  throw new Refusal('invalid', `invalid path ${JSON.stringify(path)}: ${WRITABLE_BELOW_NOMAD}`);
}

/** @throws Refusal invalid if there are no items or they have too many bytes (OP-191) */
export function checkVariableItems(items: Readonly<Record<string, string>>): void {
  let count = 0;
  let bytes = 0;
  for (const [key, value] of Object.entries(items)) {
    count += 1;
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (count === 0) throw new Refusal('invalid', 'variable missing required Items object');
  if (bytes > MAX_VARIABLE_ITEMS_BYTES) throw new Refusal('invalid', 'variables are limited to 64KiB in total size');
}

/** @throws Refusal invalid if the TTL or the delay is outside its limits (OP-200) */
export function checkVariableLock({ TTL, LockDelay }: { readonly TTL: number; readonly LockDelay: number }): void {
  if (TTL < 0 || LockDelay < 0) throw new Refusal('invalid', 'Lock delay and TTL must be positive');
  if (TTL < MIN_LOCK_TTL_NS || TTL > MAX_LOCK_TTL_NS)
    throw new Refusal('invalid', 'TTL must be between 10 seconds and 24 hours');
  if (LockDelay > MAX_LOCK_DELAY_NS) throw new Refusal('invalid', 'Lock delay must be at most 24 hours');
}
