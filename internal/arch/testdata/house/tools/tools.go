// Package tools is another module: not looked at.
package tools

import _ "example.com/unknown"
