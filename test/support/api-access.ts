import type { Pod } from "kubernetes-types/core/v1";
import type { Role, RoleBinding } from "kubernetes-types/rbac/v1";
import { agentImageRef } from "../../agent/image/build.js";
import { RoleBindingResource, RoleResource, type KubeClient } from "../../agent/runtime/index.js";

/** What a pod says that was given no token. */
export const NO_TOKEN = "no token";
const NAME = "own-pods";

/** As any client in a pod does: the environment says where, the mounted files who asks and whom to trust. */
const ASK = `
const fs = require("node:fs"), https = require("node:https");
const file = (name) => fs.readFileSync("/var/run/secrets/kubernetes.io/serviceaccount/" + name, "utf8");
const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port, HOSTNAME: name } = process.env;
const path = "/api/v1/namespaces/" + process.argv[1] + "/pods/" + name;
const ask = (token) => https.get({ host, port, path, ca: file("ca.crt"), timeout: 20_000, headers: { authorization: "Bearer " + token } }, (answer) => {
  let text = "";
  answer.on("data", (part) => (text += part));
  answer.on("end", () => console.log(answer.statusCode === 200 ? JSON.parse(text).metadata.uid : text));
}).on("timeout", function () { this.destroy(new Error("no answer")); }).on("error", (error) => console.log(host + ":" + port + ": " + error));
const files = fs.readdirSync("/var/run/secrets/kubernetes.io/serviceaccount");
if (files.includes("token")) ask(file("token")); else console.log("${NO_TOKEN}");
`;

/** A pod that asks its API server for itself, under its name in `asked`, and logs the UID which that tells. */
export function askingPod(id: { name: string; namespace: string }, asked: string, annotations = {}): Pod {
  return {
    metadata: { ...id, annotations },
    spec: {
      restartPolicy: "Never",
      nodeSelector: { "liqo.io/type": "virtual-node" },
      containers: [{ name: "main", image: agentImageRef(), command: ["/usr/bin/node", "-e", ASK, asked] }],
    },
  };
}

/** Lets a namespace's default account look at the pods there. */
export async function showPods(client: KubeClient, namespace: string): Promise<void> {
  const metadata = { name: NAME, namespace };
  const role: Role = { metadata, rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }] };
  const binding: RoleBinding = {
    metadata,
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: NAME },
    subjects: [{ kind: "ServiceAccount", name: "default", namespace }],
  };
  await client.create(RoleResource, role);
  await client.create(RoleBindingResource, binding);
}
