import { runService } from '@waybill/service';
import { agent } from './agent.service.js';

await runService(agent);
