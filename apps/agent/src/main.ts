import { loadProgram } from '@waybill/processes/program';
import { setFlagsFromString } from 'node:v8';

/**
 * How much the heap may grow beyond what lives before V8 looks for garbage, in percent; left alone it waits until it is
 * four times as large. A machine's memory is for its tasks, and the agent is forked for each start of one.
 */
const HEAP_GROWING_PERCENT = 40;

setFlagsFromString(`--heap-growing-percent=${HEAP_GROWING_PERCENT}`); // before the rest is loaded, most of which lives on
await loadProgram('agent', () => import('./program.js'));
