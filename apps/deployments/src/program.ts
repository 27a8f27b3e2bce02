import { runService } from '@waybill/service';
import { deployments } from './deployments.module.js';

await runService(deployments);
