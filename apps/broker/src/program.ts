import { runService } from '@waybill/service';
import { broker } from './broker.module.js';

await runService(broker);
