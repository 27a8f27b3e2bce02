import { loadProgram } from '@waybill/processes/program';

await loadProgram('join', () => import('./join-program.js'));
