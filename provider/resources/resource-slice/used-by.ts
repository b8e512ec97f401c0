import { sliceKubeconfigSecretName, type VirtualNode } from "../../../agent/api/index.js";

/** Whether the virtual node works with the slice's identity. */
export function usesSlice({ spec }: VirtualNode, sliceName: string): boolean {
  return spec.kubeconfigSecretRef?.name === sliceKubeconfigSecretName(sliceName);
}
