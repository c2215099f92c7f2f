// Package archive writes, checks and unpacks backup archives. Package backup decides what they
// contain and where they are stored.
//
// An archive is a zip file. Its last member is manifest.json, a [Manifest], which lists every other
// member with its size and SHA-256. Members under data/ are files of the data folder, with the
// names in [DataFiles]; members under vault/ are files of the vault.
//
// An archive is refused if a member is not listed in the manifest or differs from it, if a name
// occurs twice or leaves its folder, if a member is a link or another irregular file, or has more
// bytes than listed. The archive is not signed: who can write it can change its content.
//
// The zip file may be encrypted with age.
package archive
