export { Interrupts } from './terminal/interrupts.js';
export type { ProcessIO } from './process-io.js';
export { runProgram } from './program.js';
