import { Module } from '@nestjs/common';
import { made } from '../core.module.js';
import { DiscoveryController, DiscoverySettings } from './discovery.controller.js';
import { KeyringController } from './keyring.controller.js';
import { RootKeyWrites } from './root-key-writes.js';

@Module({
  controllers: [KeyringController, DiscoveryController],
  providers: [
    made(
      RootKeyWrites,
      ({ model, writes, context: { newId }, parts: { keyring } }) =>
        new RootKeyWrites({ model, writes, keyring, newId }),
    ),
    made(
      DiscoverySettings,
      ({ context: { settings, clock, random } }) =>
        new DiscoverySettings(
          settings.WAYBILL_OIDC_ISSUER,
          settings.WAYBILL_ROOT_KEY_ROTATION_THRESHOLD,
          () => clock.nowMs(),
          random,
        ),
    ),
  ],
})
export class KeyringModule {}
