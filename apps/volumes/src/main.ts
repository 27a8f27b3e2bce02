import { loadProgram } from '@waybill/processes/program';

await loadProgram('volumes', () => import('./program.js'));
