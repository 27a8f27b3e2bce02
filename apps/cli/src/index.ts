export { Interrupts } from './terminal/interrupts.js';
export { runProgram, type Surroundings } from './program.js';
