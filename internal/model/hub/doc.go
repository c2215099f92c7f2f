// Package hub manages the folder of local models: it lists, downloads, copies, verifies and removes
// them. It does not open models; package transformer does.
//
// A model is a folder in the layout of the Hugging Face hub, named NAME or ORGANISATION/NAME. A downloaded or
// copied model has one additional file:
//
//	loci.json   its source, and the sizes and hashes of its files
//
// A download is in .pull/NAME@COMMIT until complete, and is then renamed to NAME. A model added from a local
// copy is also prepared in .pull.
package hub
