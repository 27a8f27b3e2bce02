import { loadProgram } from '@waybill/processes/program';
import { setFlagsFromString } from 'node:v8';

/**
 * The growth of the heap in percent before V8 collects garbage. By default V8 waits until the heap is four times as
 * large. A machine's memory is for its tasks, and each start of a task forks the agent.
 */
const HEAP_GROWING_PERCENT = 40;

setFlagsFromString(`--heap-growing-percent=${HEAP_GROWING_PERCENT}`); // before the rest is loaded, most of which stays in memory
await loadProgram('agent', () => import('./program.js'));
