import { runService } from '@waybill/service';
import { volumes } from './volumes.service.js';

await runService(volumes);
