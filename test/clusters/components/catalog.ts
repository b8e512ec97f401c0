/** The programs of a test cluster: the package each is built from, and its official release where the project has one. */
import { pinnedVersion } from "./versions.js";

export const KUBERNETES = "k8s.io/kubernetes";

/** An official release: what to fetch and the file of SHA-256 sums the project publishes beside it. */
export interface Release {
  url: string;
  checksums: string;
  /** Folder inside the archive that holds the programs; absent when the download is the program itself. */
  archiveFolder?: string;
}

/** Programs of one version in one folder of the cache. */
export interface Component {
  name: string;
  /** The module whose version is the component's. */
  module: string;
  /** Program name → package of its main function. */
  programs: Readonly<Record<string, string>>;
  /** Main packages of our own, for modules whose own hold far more than the clusters need: program → folder beside this file. */
  ownMain?: Readonly<Record<string, string>>;
  /**
   * Built with Kubernetes' versions of the dependencies that both have: those are compiled for Kubernetes already, which
   * is most of the work.
   */
  sharesKubernetesDependencies?: boolean;
  tags?: string;
  /** Further linker flags, mostly the version that the program reports. */
  linkerFlags?: (version: string) => string;
  release?: (version: string, architecture: string, program: string) => Release;
}

const bare = (version: string): string => version.replace(/^v/, "");
const gitHub = (repository: string, version: string, file: string): string =>
  `https://github.com/${repository}/releases/download/${version}/${file}`;

function kubernetesLinkerFlags(version: string): string {
  const [major, minor] = bare(version).split(".");
  return [
    `-X k8s.io/component-base/version.gitVersion=${version}`,
    `-X k8s.io/component-base/version.gitMajor=${major}`,
    `-X k8s.io/component-base/version.gitMinor=${minor}`,
    `-X k8s.io/client-go/pkg/version.gitVersion=${version}`,
  ].join(" ");
}

export const KUBERNETES_PROGRAMS = [
  "kube-apiserver",
  "kube-controller-manager",
  "kube-scheduler",
  "kubelet",
  "kube-proxy",
  "kubectl",
] as const;

export const COMPONENTS: readonly Component[] = [
  {
    name: "kubernetes",
    module: KUBERNETES,
    programs: Object.fromEntries(KUBERNETES_PROGRAMS.map((program) => [program, `${KUBERNETES}/cmd/${program}`])),
    linkerFlags: kubernetesLinkerFlags,
    release: (version, architecture, program) => {
      const url = `https://dl.k8s.io/release/${version}/bin/linux/${architecture}/${program}`;
      return { url, checksums: `${url}.sha256` };
    },
  },
  {
    name: "etcd",
    module: "go.etcd.io/etcd/server/v3",
    programs: { etcd: "go.etcd.io/etcd/server/v3" },
    release: (version, architecture) => ({
      url: gitHub("etcd-io/etcd", version, `etcd-${version}-linux-${architecture}.tar.gz`),
      checksums: gitHub("etcd-io/etcd", version, "SHA256SUMS"),
      archiveFolder: `etcd-${version}-linux-${architecture}`,
    }),
  },
  {
    name: "containerd",
    module: "github.com/containerd/containerd/v2",
    programs: Object.fromEntries(
      ["containerd", "containerd-shim-runc-v2", "ctr"].map((program) => [
        program,
        `github.com/containerd/containerd/v2/cmd/${program}`,
      ]),
    ),
    tags: "no_btrfs no_devmapper no_zfs",
    linkerFlags: (version) => `-X github.com/containerd/containerd/v2/version.Version=${bare(version)}`,
    release: (version, architecture) => {
      const file = `containerd-static-${bare(version)}-linux-${architecture}.tar.gz`;
      return {
        url: gitHub("containerd/containerd", version, file),
        checksums: gitHub("containerd/containerd", version, `${file}.sha256sum`),
        archiveFolder: "bin",
      };
    },
  },
  {
    name: "coredns",
    module: "github.com/coredns/coredns",
    programs: { coredns: "github.com/coredns/coredns" },
    ownMain: { coredns: "coredns" },
    sharesKubernetesDependencies: true,
    release: (version, architecture) => {
      const file = `coredns_${bare(version)}_linux_${architecture}.tgz`;
      return {
        url: gitHub("coredns/coredns", version, file),
        checksums: gitHub("coredns/coredns", version, `${file}.sha256`),
        archiveFolder: ".",
      };
    },
  },
  {
    name: "metrics-server",
    module: "sigs.k8s.io/metrics-server",
    programs: { "metrics-server": "sigs.k8s.io/metrics-server/cmd/metrics-server" },
    sharesKubernetesDependencies: true,
  },
  {
    name: "helm",
    module: "helm.sh/helm/v3",
    programs: { helm: "helm.sh/helm/v3/cmd/helm" },
    sharesKubernetesDependencies: true,
    linkerFlags: (version) => `-X helm.sh/helm/v3/internal/version.version=${version}`,
    release: (version, architecture) => {
      const url = `https://get.helm.sh/helm-${version}-linux-${architecture}.tar.gz`;
      return { url, checksums: `${url}.sha256sum`, archiveFolder: `linux-${architecture}` };
    },
  },
  {
    name: "wireguard-go",
    module: "golang.zx2c4.com/wireguard",
    programs: { "wireguard-go": "golang.zx2c4.com/wireguard" },
  },
  {
    name: "pulumi",
    module: "github.com/pulumi/pulumi/pkg/v3",
    // The engine finds its language hosts beside itself, so both lie in one folder, as in the official archive.
    programs: {
      pulumi: "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi",
      "pulumi-language-yaml": "github.com/pulumi/pulumi-yaml/cmd/pulumi-language-yaml",
    },
    linkerFlags: (version) =>
      [
        `-X github.com/pulumi/pulumi/sdk/v3/go/common/version.Version=${version}`,
        `-X github.com/pulumi/pulumi-yaml/pkg/version.Version=${pinnedVersion("github.com/pulumi/pulumi-yaml")}`,
      ].join(" "),
    release: (version, architecture) => ({
      url: `https://get.pulumi.com/releases/sdk/pulumi-${version}-linux-${architecture === "amd64" ? "x64" : architecture}.tar.gz`,
      checksums: `https://get.pulumi.com/releases/sdk/pulumi-${bare(version)}-checksums.txt`,
      archiveFolder: "pulumi",
    }),
  },
];

/** The component that holds a program. */
export function componentOf(program: string): Component {
  const component = COMPONENTS.find((item) => program in item.programs);
  if (!component) throw new Error(`No component of the test clusters is called ${program}`);
  return component;
}

/** The architecture by Go's name. */
export function architecture(): string {
  return process.arch === "x64" ? "amd64" : process.arch;
}
