// Command vectors prints what the reference's libraries (hcldec, go-cty) make of pairs of schema and input.
package main

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hcldec"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	hjson "github.com/hashicorp/hcl/v2/json"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
	"github.com/zclconf/go-cty/cty/msgpack"
)

type Spec map[string]json.RawMessage

type Case struct {
	Name   string          `json:"name"`
	Spec   json.RawMessage `json:"spec"`
	Input  json.RawMessage `json:"input"`
	Bytes  string          `json:"bytes,omitempty"`
	Errors []string        `json:"errors,omitempty"`
}

var functions = map[string]function.Function{
	"abs": stdlib.AbsoluteFunc, "coalesce": stdlib.CoalesceFunc, "concat": stdlib.ConcatFunc,
	"hasindex": stdlib.HasIndexFunc, "int": stdlib.IntFunc, "jsondecode": stdlib.JSONDecodeFunc,
	"jsonencode": stdlib.JSONEncodeFunc, "length": stdlib.LengthFunc, "lower": stdlib.LowerFunc,
	"max": stdlib.MaxFunc, "min": stdlib.MinFunc, "reverse": stdlib.ReverseFunc, "strlen": stdlib.StrlenFunc,
	"substr": stdlib.SubstrFunc, "upper": stdlib.UpperFunc,
}

type node struct {
	Name, Type       string
	Required         bool
	Labels           []string
	Nested           json.RawMessage
	MinItems         int `json:"min_items"`
	MaxItems         int `json:"max_items"`
	Value            string
	Attributes       map[string]json.RawMessage
	Values           []json.RawMessage
	Primary, Default json.RawMessage
}

func named(name, key string) string {
	if name != "" {
		return name
	}
	return key
}

func decode(raw json.RawMessage, key string) hcldec.Spec {
	var one map[string]node
	var spec map[string]json.RawMessage
	must(json.Unmarshal(raw, &spec))
	one = map[string]node{}
	for kind, body := range spec {
		var n node
		must(json.Unmarshal(body, &n))
		one[kind] = n
	}
	for kind, n := range one {
		switch kind {
		case "object":
			out := hcldec.ObjectSpec{}
			for k, v := range n.Attributes {
				out[k] = decode(v, k)
			}
			return out
		case "array":
			out := hcldec.TupleSpec{}
			for _, v := range n.Values {
				out = append(out, decode(v, ""))
			}
			return out
		case "Attr":
			e, d := hclsyntax.ParseExpression([]byte(n.Type), "type", hcl.InitialPos)
			check(d)
			ty, d := typeexpr.TypeConstraint(e)
			check(d)
			return &hcldec.AttrSpec{Name: named(n.Name, key), Type: ty, Required: n.Required}
		case "block_value":
			return &hcldec.BlockSpec{TypeName: named(n.Name, key), Required: n.Required, Nested: decode(n.Nested, key)}
		case "block_attrs":
			e, d := hclsyntax.ParseExpression([]byte(n.Type), "type", hcl.InitialPos)
			check(d)
			ty, d := typeexpr.TypeConstraint(e)
			check(d)
			return &hcldec.BlockAttrsSpec{TypeName: named(n.Name, key), ElementType: ty, Required: n.Required}
		case "block_list":
			return &hcldec.BlockListSpec{TypeName: named(n.Name, key), MinItems: n.MinItems, MaxItems: n.MaxItems, Nested: decode(n.Nested, key)}
		case "block_set":
			return &hcldec.BlockSetSpec{TypeName: named(n.Name, key), MinItems: n.MinItems, MaxItems: n.MaxItems, Nested: decode(n.Nested, key)}
		case "block_map":
			return &hcldec.BlockMapSpec{TypeName: named(n.Name, key), LabelNames: n.Labels, Nested: decode(n.Nested, key)}
		case "default":
			return &hcldec.DefaultSpec{Primary: decode(n.Primary, key), Default: decode(n.Default, key)}
		case "literal":
			e, d := hclsyntax.ParseExpression([]byte(n.Value), "literal", hcl.InitialPos)
			check(d)
			v, d := e.Value(&hcl.EvalContext{Functions: functions})
			check(d)
			return &hcldec.LiteralSpec{Value: v}
		}
	}
	panic("no spec: " + string(raw))
}

func run(c *Case) {
	defer func() {
		if r := recover(); r != nil {
			c.Errors = append(c.Errors, fmt.Sprint("panic: ", r))
		}
	}()
	spec := decode(c.Spec, "")
	file, d := hjson.Parse(c.Input, "")
	if d.HasErrors() {
		c.Errors = texts(d)
		return
	}
	val, d := hcldec.Decode(file.Body, spec, &hcl.EvalContext{Functions: functions})
	if d.HasErrors() {
		c.Errors = texts(d)
		return
	}
	b, err := msgpack.Marshal(val, val.Type())
	must(err)
	c.Bytes = hex.EncodeToString(b)
}

func texts(d hcl.Diagnostics) (out []string) {
	for _, e := range d {
		out = append(out, e.Summary+"; "+e.Detail)
	}
	return
}

func check(d hcl.Diagnostics) {
	if d.HasErrors() {
		panic(d.Error())
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	var cases []Case
	must(json.NewDecoder(os.Stdin).Decode(&cases))
	for i := range cases {
		run(&cases[i])
	}
	enc := json.NewEncoder(os.Stdout)
	enc.SetEscapeHTML(false)
	for _, c := range cases {
		must(enc.Encode(c))
	}
}
