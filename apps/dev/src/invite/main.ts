import { loadProgram } from '@waybill/processes/program';

await loadProgram('invite', () => import('./program.js'));
