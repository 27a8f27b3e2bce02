/** Version of Waybill, for archives, responses and machines. */
export const WAYBILL_VERSION = '0.1.0';
/** Version of Nomad's API that clients compare with. */
export const COMPATIBLE_VERSION = '1.10.0';
