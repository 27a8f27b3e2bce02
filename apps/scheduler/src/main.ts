import { loadProgram } from '@waybill/processes/program';

await loadProgram('scheduler', () => import('./program.js'));
