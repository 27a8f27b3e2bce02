import { TransactionWriter } from '@waybill/writing';
import { Controller, Delete, Get, Param, Req, Res } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { inListOrOwn, inQuery, ofObject } from '../access/needs.js';
import { ReadModel, rowsOfJob, rowsOfService } from '@waybill/projection';
import { badRequest } from '../http/api-error.js';
import { ListFilter } from '../http/list-filter.js';
import { allowedNamespacesOf, pageOf } from '../http/list-params.js';
import { pathOf } from '../http/path.js';
import { fullUuid, namespaceOf } from '../http/query-string.js';
import { neverZero } from '../http/read-result.js';
import { Reads } from '../http/reads.js';
import { type ApiReply, type ApiRequest, sendEmpty, setWriteIndex } from '../http/reply.js';
import { Requester } from '../http/requester.js';
import { ServiceChoice } from './service-choice.js';
import { serviceNames } from './service-names.js';

/** The controller of `/v1/services`, `/v1/service/:name`, `/v1/service/:name/:id` and `/v1/allocation/:id/services`. */
@Controller('v1')
export class ServicesController {
  constructor(
    private readonly model: ReadModel,
    private readonly reads: Reads,
    private readonly writes: TransactionWriter,
  ) {}

  @Get('services')
  @Needs(inListOrOwn('read-job'))
  async list(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const namespaces = await allowedNamespacesOf(request);
    await this.reads.answer(request, reply, [['service_registrations', '*']], async () => {
      const { index, rows } = await this.model.services({ namespaces });
      return neverZero({ index, value: serviceNames(rows) });
    });
  }

  @Get('service/:name')
  @Needs(inListOrOwn('read-job'))
  async readService(@Param('name') name: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const { query } = request;
    const namespaces = await allowedNamespacesOf(request);
    const choice = ServiceChoice.of(query);
    const filter = ListFilter.of(query);
    const [only, ...others] = namespaces === '*' ? [] : namespaces;
    const watched = only !== undefined && others.length === 0 ? rowsOfService(only, name) : '*';
    await this.reads.answer(request, reply, [['service_registrations', watched]], async () => {
      const options = { namespaces, serviceName: name, ...pageOf(query), keep: filter?.keep() };
      const { index, rows, nextToken } = await this.model.services(options);
      return neverZero({ index, nextToken, value: choice ? choice.from(rows) : rows });
    });
  }

  @Get('allocation/:id/services')
  @Needs(ofObject('read-job'))
  async ofAllocation(@Param('id') given: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const id = fullUuid(given, 'alloc lookup failed');
    const alloc = request.access.visible((await this.model.allocation(id)).row);
    const ofJob = rowsOfJob(alloc?.Namespace ?? '', alloc?.JobID ?? '');
    const query = async () => {
      if (!alloc) return { index: 1, value: undefined };
      const { index, rows } = await this.model.services({ namespaces: [alloc.Namespace], allocId: id });
      return neverZero({ index, value: rows });
    };
    await this.reads.answerObject(request, reply, [['service_registrations', ofJob]], {
      query,
      missing: 'allocation not found',
    });
  }

  @Delete('service/*')
  @Needs(inQuery('submit-job', 'delete-service-registration'))
  async delete(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const ID = registrationOf(request.url);
    const payload = { Namespace: namespaceOf(request.query), ID };
    const { index } = await this.writes.write(
      { type: 'ServiceRegistrationDeleteByID', payload },
      Requester.of(request).author,
    );
    setWriteIndex(reply, index);
    sendEmpty(reply);
  }
}

/** Returns the ID in `/v1/service/:name/:id`. @throws Refusal invalid */
function registrationOf(url: string): string {
  const [name, id, ...rest] = pathOf(url).slice('/v1/service/'.length).split('/');
  if (id === undefined || rest.length > 0) throw badRequest('invalid URI');
  if (!name) throw badRequest('missing service name');
  if (!id) throw badRequest('missing service id');
  try {
    return decodeURIComponent(id);
  } catch {
    throw badRequest('invalid URI');
  }
}
