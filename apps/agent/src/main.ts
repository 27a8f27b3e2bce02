import { runService } from '@waybill/service';
import { agentService } from './agent-service.js';

await runService(agentService);
