import { Controller, Get, Head, Req, Res } from '@nestjs/common';
import { Keyring } from '@waybill/keyring';
import { ReadModel } from '@waybill/projection';
import { Needs } from '../access/needs.decorator.js';
import { open } from '../access/needs.js';
import { notFound } from '../http/api-error.js';
import { type ApiReply, type ApiRequest, sendJson } from '../http/reply.js';
import { discoveryDocument, maxAgeOf } from './discovery.js';

/** DiscoverySettings has the issuer, the age of keys, the clock and the random numbers of the process. */
export class DiscoverySettings {
  constructor(
    /** The issuer. It is empty if none is configured. */
    readonly issuer: string,
    /** The age in nanoseconds at which the next root key becomes active. */
    readonly rotationNs: number,
    readonly nowMs: () => number,
    /** Returns a number in [0, 1). */
    readonly random: () => number,
  ) {}
}

/**
 * The controller of what others need to verify identities of workloads (AU-178 to AU-181). It checks no caller and
 * ignores tokens.
 */
@Controller('.well-known')
export class DiscoveryController {
  constructor(
    private readonly keyring: Keyring,
    private readonly model: ReadModel,
    private readonly settings: DiscoverySettings,
  ) {}

  @Get('jwks.json')
  @Needs(open)
  async publicKeys(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const { rotationNs, nowMs, random } = this.settings;
    const [keys, { rows }] = await Promise.all([this.keyring.publicKeys(), this.model.keyring.keys()]);
    reply.header('Cache-Control', `max-age=${maxAgeOf(rows, rotationNs, nowMs(), random)}`);
    sendJson(request, reply, { keys });
  }

  /** Answers as for GET; Node omits the body. */
  @Head('jwks.json')
  @Needs(open)
  publicKeysHead(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.publicKeys(request, reply);
  }

  @Get('openid-configuration')
  @Needs(open)
  issuer(@Req() request: ApiRequest, @Res() reply: ApiReply): void {
    const { issuer } = this.settings;
    if (issuer === '') throw notFound('OIDC Discovery endpoint disabled');
    sendJson(request, reply, discoveryDocument(issuer));
  }

  @Head('openid-configuration')
  @Needs(open)
  issuerHead(@Req() request: ApiRequest, @Res() reply: ApiReply): void {
    this.issuer(request, reply);
  }
}
