//go:build tools

// Package components pins the programs that the test clusters run: go.mod decides every version, go.sum every content.
// Each program is built in a module of its own which requires only its component at the version given here, so go.sum
// holds the sums of those build graphs too: add to it, do not tidy it.
package components

import (
	_ "github.com/containerd/containerd/v2/cmd/containerd"
	_ "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2"
	_ "github.com/containerd/containerd/v2/cmd/ctr"
	_ "github.com/coredns/coredns"
	_ "github.com/pulumi/pulumi-yaml/cmd/pulumi-language-yaml"
	_ "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi"
	_ "go.etcd.io/etcd/server/v3"
	_ "golang.zx2c4.com/wireguard"
	_ "helm.sh/helm/v3/cmd/helm"
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kube-controller-manager"
	_ "k8s.io/kubernetes/cmd/kube-proxy"
	_ "k8s.io/kubernetes/cmd/kube-scheduler"
	_ "k8s.io/kubernetes/cmd/kubectl"
	_ "k8s.io/kubernetes/cmd/kubelet"
	_ "sigs.k8s.io/metrics-server/cmd/metrics-server"
)
