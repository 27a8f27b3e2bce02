import { Controller, Post, Put, Req, Res } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { open } from '../access/needs.js';
import { addressOf, FailedAttempts } from '../acl/failed-attempts.js';
import { TokenAnswers } from '../acl/token-answers.js';
import { notFound } from '../http/api-error.js';
import { type ApiReply, type ApiRequest, sendJson, setWriteIndex } from '../http/reply.js';
import { Requester } from '../http/requester.js';
import { JwtLogins } from './jwt-logins.js';
import { readAuthUrl, readCompleteAuth, readLogin } from './login-request.js';
import { OidcLogins } from './oidc-logins.js';
import type { GrantedToken, OnVerified } from './login-tokens.js';

/**
 * The controller of `/v1/acl/login`, `/v1/acl/oidc/auth-url` and `/v1/acl/oidc/complete-auth`, which exchange a third
 * party's credential for a token. They need no token and ignore one (AU-3).
 */
@Controller('v1/acl')
export class LoginsController {
  constructor(
    private readonly jwt: JwtLogins,
    private readonly oidc: OidcLogins,
    private readonly answers: TokenAnswers,
    private readonly attempts: FailedAttempts,
  ) {}

  @Put('login')
  @Needs(open)
  putLogin(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.login(request, reply);
  }

  @Post('login')
  @Needs(open)
  postLogin(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.login(request, reply);
  }

  @Put('oidc/auth-url')
  @Needs(open)
  putAuthUrl(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.authUrl(request, reply);
  }

  @Post('oidc/auth-url')
  @Needs(open)
  postAuthUrl(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.authUrl(request, reply);
  }

  @Put('oidc/complete-auth')
  @Needs(open)
  putCompleteAuth(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.completeAuth(request, reply);
  }

  @Post('oidc/complete-auth')
  @Needs(open)
  postCompleteAuth(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.completeAuth(request, reply);
  }

  private login(request: ApiRequest, reply: ApiReply): Promise<void> {
    return this.attempts.guard(request, reply, async () => {
      const { author } = Requester.of(request);
      const granted = await this.jwt.login(readLogin(request.body), author, auditSubject(request));
      await this.sendToken(request, reply, granted);
    });
  }

  private authUrl(request: ApiRequest, reply: ApiReply): Promise<void> {
    return this.attempts.guard(request, reply, async () => {
      const AuthURL = await this.oidc.begin(readAuthUrl(request.body), addressOf(request));
      sendJson(request, reply, { AuthURL });
    });
  }

  private completeAuth(request: ApiRequest, reply: ApiReply): Promise<void> {
    return this.attempts.guard(request, reply, async () => {
      const { author } = Requester.of(request);
      const granted = await this.oidc.complete(readCompleteAuth(request.body), author, auditSubject(request));
      await this.sendToken(request, reply, granted);
    });
  }

  private async sendToken(request: ApiRequest, reply: ApiReply, { accessorId, index }: GrantedToken): Promise<void> {
    const token = await this.answers.wholeById(accessorId);
    if (!token) throw notFound('ACL token not found'); // deleted in the moment since
    setWriteIndex(reply, index);
    sendJson(request, reply, token);
  }
}

/** Makes the audit log name the subject of the login. */
const auditSubject =
  (request: ApiRequest): OnVerified =>
  (subject) =>
    request.notes?.loggedIn(subject);
