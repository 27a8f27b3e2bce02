import { runService } from '@waybill/service';
import { nodesService } from './nodes-service.js';

await runService(nodesService());
