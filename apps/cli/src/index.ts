export { Interrupts } from './interrupts.js';
export { runProgram, type Surroundings } from './program.js';
