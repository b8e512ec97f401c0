/** Keys, signatures, certificate requests and kubeconfigs of the handshake. Pure: nothing here talks to a cluster. */
export * from "./certificate.js";
export * from "./certificate-request.js";
export * from "./kubeconfig.js";
export * from "./keys.js";
export * from "./nonce.js";
export * from "./pem.js";
export * from "./signature.js";
