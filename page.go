package loci

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"github.com/loci-memory/loci/internal/front/proxy"
	"github.com/loci-memory/loci/internal/front/web"
	"github.com/loci-memory/loci/internal/httpx"
)

// shownSettings are the settings as the page shows them, in the order of Config's
// fields: what each is and where that is from. Of a secret it only says that it is set.
func shownSettings(c Config) []web.Setting {
	values := map[string]reflect.Value{}
	valuesOf(reflect.ValueOf(c), "", values)
	var out []web.Setting
	for _, s := range settings() {
		value := values[s.Key]
		shown := fmt.Sprint(value.Interface())
		if list, ok := value.Interface().([]string); ok {
			shown = strings.Join(list, ", ")
		}
		switch {
		case s.Secret && shown != "":
			shown = "set"
		case s.Key == "upstream.url":
			shown = c.Upstream.Shown()
		case s.Key == "learn.url", s.Key == "embed.url": // a query may hold a key here too
			shown = UpstreamConfig{URL: shown}.Shown()
		}
		from := c.from[s.Key]
		if from == "" {
			from = fromDefault
		}
		out = append(out, web.Setting{Key: s.Key, Value: shown, From: from, Doc: s.Doc})
	}
	return out
}

func valuesOf(v reflect.Value, prefix string, into map[string]reflect.Value) {
	for f := range fields(v.Type()) {
		key := prefix + f.Tag.Get("koanf")
		if field := v.FieldByIndex(f.Index); f.Type.Kind() == reflect.Struct {
			valuesOf(field, key+".", into)
		} else {
			into[key] = field
		}
	}
}

// refuser answers with an error in the shape of the door that was asked.
func refuser(page *web.Page) func(http.ResponseWriter, *http.Request, error) {
	return func(w http.ResponseWriter, r *http.Request, err error) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/v1/"):
			proxy.Refuse(w, r, err)
		case page.Owns(r):
			page.Refuse(w, r, err)
		default:
			httpx.WriteError(w, r, err)
		}
	}
}
