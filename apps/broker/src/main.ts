import { loadProgram } from '@waybill/processes/program';

await loadProgram('broker', () => import('./program.js'));
