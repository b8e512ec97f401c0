import { V1Container, V1EphemeralContainer, V1PodSpec } from "@kubernetes/client-node";
import { expect } from "chai";
import type { Container, EphemeralContainer, Pod } from "kubernetes-types/core/v1";
import { meansOtherNode, notCarried } from "../../../agent/virtual-node/pods/not-carried.js";
import { changeableSpec, remotePodSpec, type PodSpecOptions } from "../../../agent/virtual-node/pods/pod-spec.js";
import { POD_FIELDS } from "../../support/pod-fields.js";

const API_ACCESS = ["token", "disabled", "remote"] as const;
const options: Omit<PodSpecOptions, "apiAccess"> = { patch: {}, rootCaName: "kube-root-ca.crt.consu", labels: {} };
const container = { name: "main", image: "web" };
const podWith = (spec: Record<string, unknown>): Pod => ({
  metadata: { name: "web", namespace: "shop" },
  spec: { containers: [container], ...spec },
});
const fieldsOf = (type: { attributeTypeMap: { baseName: string }[] }): string[] =>
  type.attributeTypeMap.map(({ baseName }) => baseName);
const remoteOf = (pod: Pod, apiAccess: PodSpecOptions["apiAccess"]): Partial<Record<string, unknown>> => ({
  ...remotePodSpec(pod, { ...options, apiAccess }),
});

describe("fields of a pod that goes to a provider", () => {
  it("are all decided on", () => {
    expect(Object.keys(POD_FIELDS)).to.include.members(fieldsOf(V1PodSpec));
  });

  for (const [field, { fate, value }] of Object.entries(POD_FIELDS)) {
    it(`${field} is ${fate}`, () => {
      const pod = podWith({ [field]: value });
      const names = notCarried(pod).map((path) => path.split(".")[1]);
      expect(names).to.deep.equal(fate === "named" ? [field] : []);
      for (const apiAccess of API_ACCESS) {
        const remote = remoteOf(pod, apiAccess)[field];
        if (fate === "carried") expect(remote, apiAccess).to.deep.equal(value);
        if (fate === "named" || fate === "local") expect(remote || undefined, apiAccess).to.equal(undefined);
      }
    });
  }

  it("are not named where they are as they are in every pod", () => {
    const ordinary = {
      schedulerName: "default-scheduler",
      preemptionPolicy: "PreemptLowerPriority",
      priority: 0,
      os: { name: "linux" },
      hostNetwork: false,
      affinity: { nodeAffinity: {} },
    };
    expect(notCarried(podWith(ordinary))).to.deep.equal([]);
  });

  describe("in containers", () => {
    /** What is looked into needs its own shape. */
    const shaped: Record<string, unknown> = {
      name: "main",
      env: [
        { name: "FILE", valueFrom: { fileKeyRef: { volumeName: "scratch", path: "env", key: "FILE" } } },
        { name: "SECRET", valueFrom: { secretKeyRef: { name: "password", key: "p" } } },
      ],
      envFrom: [{ prefix: "P_", secretRef: { name: "password" } }],
      resources: { requests: { cpu: "1" }, limits: { "example.com/gpu": "1" } },
    };
    const full = (type: Parameters<typeof fieldsOf>[0]): Container & EphemeralContainer =>
      Object.fromEntries(fieldsOf(type).map((field) => [field, shaped[field] ?? { is: field }])) as never;

    it("are all carried, but the claims that their pod is without", () => {
      const every = full(V1Container);
      const debug = full(V1EphemeralContainer);
      const pod = podWith({ containers: [every], initContainers: [every], ephemeralContainers: [debug] });
      for (const apiAccess of API_ACCESS) {
        const remote = remotePodSpec(pod, { ...options, apiAccess });
        expect(remote.containers, apiAccess).to.deep.equal([every]);
        expect(remote.initContainers, apiAccess).to.deep.equal([every]);
        const later = changeableSpec(pod, { ...options, apiAccess });
        expect(later.ephemeralContainers, apiAccess).to.deep.equal([debug]);
      }
    });

    it("are named in each that asks for a claim, or for more of the node", () => {
      const resources = { claims: [{ name: "gpu" }] };
      const securityContext = { privileged: true };
      const ports = [{ containerPort: 1, hostPort: 1 }];
      const asking = { image: "web", resources, securityContext, ports };
      const pod = podWith({
        initContainers: [{ name: "first", ...asking }],
        containers: [{ name: "main", ...asking }],
        ephemeralContainers: [{ name: "debugger", ...asking }],
      });
      const paths = (field: string): string[] => [
        `spec.initContainers[first].${field}`,
        `spec.containers[main].${field}`,
        `spec.ephemeralContainers[debugger].${field}`,
      ];
      expect(notCarried(pod)).to.deep.equal(paths("resources.claims"));
      const expected = [...paths("securityContext.privileged"), ...paths("ports.hostPort")];
      expect(meansOtherNode(pod)).to.deep.equal(expected);
      expect(remotePodSpec(pod, { ...options, apiAccess: "token" }).initContainers?.[0]?.resources).to.deep.equal({});
    });
  });
});
