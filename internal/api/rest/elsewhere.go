package rest

import (
	"net/http"
	"reflect"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
)

// ExternalOperation is an operation of another API in the OpenAPI document. Request and response are JSON.
type ExternalOperation struct {
	Method, Path, ID, Summary string
	Request, Response         reflect.Type
	Prefix                    string // first part of its schemas' names, so that no other API has the same names
}

// addExternalOperations adds operations of other APIs to the OpenAPI document.
func addExternalOperations(api *huma.OpenAPI, operations []ExternalOperation) {
	for _, e := range operations {
		schemas := huma.NewMapRegistry("#/components/schemas/", func(t reflect.Type, hint string) string {
			return e.Prefix + huma.DefaultSchemaNamer(t, hint)
		})
		content := func(t reflect.Type) map[string]*huma.MediaType {
			return map[string]*huma.MediaType{"application/json": {Schema: schemas.Schema(t, true, "")}}
		}
		op := &huma.Operation{
			OperationID: e.ID, Method: e.Method, Path: e.Path, Summary: e.Summary,
			RequestBody: &huma.RequestBody{Required: true, Content: content(e.Request)},
			Responses: map[string]*huma.Response{
				strconv.Itoa(http.StatusOK): {Description: http.StatusText(http.StatusOK), Content: content(e.Response)},
				"default": {Description: "Error", Content: map[string]*huma.MediaType{
					"application/problem+json": {Schema: &huma.Schema{Ref: "#/components/schemas/" + reflect.TypeOf(newHumaError(0, "")).Elem().Name()}},
				}},
			},
		}
		api.AddOperation(op)
		for name, schema := range schemas.Map() {
			api.Components.Schemas.Map()[name] = schema
		}
	}
}
