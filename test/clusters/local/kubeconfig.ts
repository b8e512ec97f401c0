import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import { writeAtomically } from "../support/files.js";
import { clusterPaths } from "./paths.js";
import { controlPlane, type ClusterRecord } from "./record.js";

/** Writes a kubeconfig file for one of the cluster's certificates, unless it is there with the same content. */
export function ensureKubeconfig(record: ClusterRecord, certificate: string, path: string): string {
  const { name } = record.spec;
  const pki = clusterPaths(name).pki;
  const encoded = (file: string): string => readFileSync(join(pki, file)).toString("base64");
  const content = stringify(
    {
      apiVersion: "v1",
      kind: "Config",
      clusters: [
        {
          name,
          cluster: {
            server: `https://${controlPlane(record).address}:6443`,
            "certificate-authority-data": encoded("ca.crt"),
          },
        },
      ],
      users: [
        {
          name,
          user: {
            "client-certificate-data": encoded(`${certificate}.crt`),
            "client-key-data": encoded(`${certificate}.key`),
          },
        },
      ],
      contexts: [{ name, context: { cluster: name, user: name } }],
      "current-context": name,
    },
    { lineWidth: 0 },
  );
  if (!existsSync(path) || readFileSync(path, "utf8") !== content) writeAtomically(path, content);
  return path;
}
