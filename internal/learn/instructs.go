package learn

// Instructs reports whether a text would steer a model rather than tell it something.
func Instructs(s string) bool { return instructs(s) }
