import { loadProgram } from '@waybill/processes/program';

await loadProgram('projector', () => import('./program.js'));
