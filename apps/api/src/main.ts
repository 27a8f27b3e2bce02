import { loadProgram } from '@waybill/processes/program';

await loadProgram('api', () => import('./program.js'));
