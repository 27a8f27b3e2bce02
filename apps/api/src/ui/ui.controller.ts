import { Controller, Get, Req, Res } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { open } from '../access/needs.js';
import { pathOf } from '../http/path.js';
import type { ApiReply, ApiRequest } from '../http/reply.js';
import { pageAnswer } from './page-answer.js';
import { PageFiles } from './page-files.store.js';

const ROOT = '/ui/';

/**
 * The controller of `/` and `/ui/`, where people look first (API-2, OP-92). The pages need no token; their requests to
 * `/v1` do.
 */
@Controller()
export class UiController {
  constructor(private readonly files: PageFiles) {}

  /** Redirects with the query. */
  @Get()
  @Needs(open)
  toPages(@Req() { url }: ApiRequest, @Res() reply: ApiReply): void {
    reply
      .code(307)
      .header('Location', `${ROOT}${url.slice('/'.length)}`)
      .send();
  }

  @Get(['ui', 'ui/*'])
  @Needs(open)
  pages(@Req() { url, headers }: ApiRequest, @Res() reply: ApiReply): void {
    const {
      status,
      headers: said,
      body,
    } = pageAnswer(pathOf(url).slice(ROOT.length), (name) => this.files.get(name), headers['accept-encoding']);
    for (const [name, value] of Object.entries(said)) reply.header(name, value);
    reply.code(status).send(body);
  }
}
