/** Of Waybill: what archives, answers and machines say they were made by. */
export const WAYBILL_VERSION = '0.1.0';
