// Joins Kubernetes clusters: an encrypted network between their pods, and a virtual node by which one uses the other's resources.
package liqo
