import { runService } from '@waybill/service';
import { api } from './api.service.js';

await runService(api);
