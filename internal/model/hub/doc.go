// Package hub keeps the folder of local models: it lists what is there, gets models
// from a hub, a mirror of one or a local copy, checks and removes them. It opens none;
// package transformer does.
//
// A model is a folder as the hub publishes it, named NAME or ORGANISATION/NAME, in the
// folder of models. Beside the published files one that was pulled or added has
//
//	loci.json   where it is from, and the sizes and hashes of its files
//
// What is being pulled lies in .pull/NAME@COMMIT until all of it is there, and then
// becomes NAME at once. A model that is being added lies in .pull, too.
package hub
