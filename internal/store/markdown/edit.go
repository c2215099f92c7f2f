package markdown

// Edit is what a person did to a file.
type Edit struct {
	Path string
	SHA  string
}
