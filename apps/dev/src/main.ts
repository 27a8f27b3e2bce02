import { loadProgram } from '@waybill/processes/program';

await loadProgram('dev', () => import('./program.js'));
