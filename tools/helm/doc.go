// Package helm has the tests of the Helm chart in deploy/helm/loci. It is a module of its own: Helm and
// the types of Kubernetes are not part of Loci.
package helm
