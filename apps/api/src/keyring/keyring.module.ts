import { Module } from '@nestjs/common';
import { made } from '../core.module.js';
import { DiscoveryController, DiscoverySettings } from './discovery.controller.js';
import { KeyringController } from './keyring.controller.js';

@Module({
  controllers: [KeyringController, DiscoveryController],
  providers: [
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
