// Package hub manages the folder of local models: it lists, downloads, copies, verifies and removes
// them. It does not open models; package transformer does.
//
// A model is a folder as the hub publishes it, named NAME or ORGANISATION/NAME. Next to the
// published files, a downloaded or copied model has
//
//	loci.json   its source, and the sizes and hashes of its files
//
// A download is in .pull/NAME@COMMIT until it is complete. Then it is renamed to NAME. Copies use .pull too.
package hub
