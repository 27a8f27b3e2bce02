/** The names of the three services of the Container Storage Interface v1 that Waybill calls or offers (csi-wire.md section 2). */
export const CSI_SERVICES = ['csi.v1.Identity', 'csi.v1.Controller', 'csi.v1.Node'] as const;
