import { runService } from '@waybill/service';
import { scheduler } from './scheduler.module.js';

await runService(scheduler);
