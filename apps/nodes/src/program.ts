import { runService } from '@waybill/service';
import { nodes } from './nodes.service.js';

await runService(nodes);
