// Package archive writes, checks and unpacks backup archives. Package backup chooses their contents
// and their destination.
//
// An archive is a zip file. Its last member is manifest.json, a [Manifest], which lists every other
// member with its size and SHA-256. Members under data/ are files of the data folder, with the
// names in [DataFiles]; members under vault/ are files of the vault.
//
// [Open] and [Archive.Check] refuse an archive if a member is not listed in the manifest or differs from it,
// if a name occurs twice or is a path out of its folder, or if a member is no regular file, such as a link.
// Archives are not signed: anybody who can write the file can change its content.
//
// The zip file may be encrypted with age.
package archive
