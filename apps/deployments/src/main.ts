import { runService } from '@waybill/service';
import { deployments } from './deployments.service.js';

await runService(deployments);
