import {
  type Allocation,
  lookalikeErrors,
  MAX_FILE_NAME_BYTES,
  MAX_OBJECT_ID_BYTES,
  type TaskGroup,
  taskNameErrors,
} from '@waybill/model';
import { type PathName, pathName, UnsafeNameError } from './path-name.js';

/**
 * The longest addition to a task's name in the names of its log files: `.<task>.stdout.deleted.new`,
 * `<task>.stdout.<number>`.
 */
const LONGEST_LOG_ENDING = '..stdout.deleted.new';

/** Returns the name of a task's directory. @throws UnsafeNameError */
export function taskName(task: string): PathName {
  const [problem] = taskNameErrors(task);
  if (problem !== undefined) throw new UnsafeNameError('the task', task, `is refused: ${problem}`);
  const most = MAX_FILE_NAME_BYTES - LONGEST_LOG_ENDING.length;
  if (Buffer.byteLength(task) > most) throw new UnsafeNameError('the task', task, `is longer than ${most} bytes`);
  return pathName(task, 'the task');
}

/**
 * Checks that the names of an allocation can become paths here. Registration refuses others, but an agent trusts no
 * server, and a log may be older than the rule.
 * @throws UnsafeNameError
 */
export function checkAllocationNames({ ID }: Pick<Allocation, 'ID'>, { Tasks }: Pick<TaskGroup, 'Tasks'>): void {
  pathName(ID, 'the allocation');
  if (Buffer.byteLength(ID) > MAX_OBJECT_ID_BYTES)
    throw new UnsafeNameError('the allocation', ID, `is longer than ${MAX_OBJECT_ID_BYTES} bytes`);
  const names = Tasks.map(({ Name }) => Name);
  for (const name of names) taskName(name);
  const [problem] = lookalikeErrors(names);
  if (problem !== undefined) throw new UnsafeNameError('the tasks', names.join(', '), `are refused: ${problem}`);
  if (new Set(names).size < names.length) throw new UnsafeNameError('the tasks', names.join(', '), 'are not different');
}
