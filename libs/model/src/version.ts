/** Of Waybill: what archives, answers and machines say they were made by. */
export const WAYBILL_VERSION = '0.1.0';
/** What clients compare with: how much of Nomad's API this speaks. */
export const COMPATIBLE_VERSION = '1.10.0';
