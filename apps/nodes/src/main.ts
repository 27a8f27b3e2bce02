import { loadProgram } from '@waybill/processes/program';

await loadProgram('nodes', () => import('./program.js'));
