// Package archive is the archive that a backup of memory is: how it is written, checked
// and unpacked. What goes into it, and where it goes to, is package backup's to say.
//
// An archive is a zip file. Its last member is manifest.json, a [Manifest], which names
// every other member with its size and SHA-256. Members lie under data/, what was in the
// data folder, by the names in [DataFiles], and under vault/, what was in the vault.
//
// An archive is refused that has a member which the manifest does not name or names
// otherwise, a name twice, a name that leads out of its folder, a link or anything else
// that is not a plain file, or more bytes than it says. It is not signed: who can write it
// can write what it holds.
//
// The zip file may be encrypted with age.
package archive
