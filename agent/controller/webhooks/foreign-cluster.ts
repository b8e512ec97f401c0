import { Labels, type ForeignCluster } from "../../api/index.js";
import { allow, labelPatch, mutate, type AdmissionHandler, type AdmissionRequest } from "./admission.js";

/** Keeps the label by which a ForeignCluster is found equal to its cluster ID. */
export const mutateForeignCluster: AdmissionHandler = (request) => {
  const { object } = request as AdmissionRequest<ForeignCluster>;
  return object ? mutate(labelPatch(object, { [Labels.remoteClusterID]: object.spec.clusterID })) : allow();
};
