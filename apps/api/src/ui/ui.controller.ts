import { Controller, Get, Req, Res } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { open } from '../access/needs.js';
import type { ApiReply, ApiRequest } from '../http/reply.js';

const DISABLED = '<html><p>Nomad UI is disabled</p></html>';

/** `/` and `/ui/`: where people look first (API-2, OP-92). There are no pages yet, and this says so. */
@Controller()
export class UiController {
  /** What stands behind the question mark goes along. */
  @Get()
  @Needs(open)
  toPages(@Req() { url }: ApiRequest, @Res() reply: ApiReply): void {
    reply
      .code(307)
      .header('Location', `/ui/${url.slice('/'.length)}`)
      .send();
  }

  @Get(['ui', 'ui/*'])
  @Needs(open)
  pages(@Res() reply: ApiReply): void {
    reply.code(200).header('Content-Type', 'text/html; charset=utf-8').send(DISABLED);
  }
}
