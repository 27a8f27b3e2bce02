import { loadProgram } from '@waybill/processes/program';

await loadProgram('deployments', () => import('./program.js'));
