// Fills answers.json with what the reference's language makes of each expression in it. Its packages come by
//
//	cd libs/jobspec/golden && go mod init answers && go mod tidy && go run answers.go
//
// Left out on purpose, with what Waybill does instead: fractions beyond 150 digits (cut), -0 (0), numbers beyond 1e308 in
// free-form content (refused), `null && true` (refused), a block scalar of YAML whose last line has no end (gets one),
// cidrhost of an IPv4 address in IPv6 notation (right), cidrsubnet with a negative length (refused), yamlencode of
// characters beyond U+FFFF, of control characters and of lines above 80 characters (the same YAML, written another way).
package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"

	"github.com/hashicorp/go-cty-funcs/cidr"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	ctyyaml "github.com/zclconf/go-cty-yaml"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

const file = "answers.json"

type answer struct {
	Expression string `json:"expression"`
	// The value as JSON.
	Value string `json:"value,omitempty"`
	// Summary and detail, without the place.
	Error string `json:"error,omitempty"`
}

var functions = map[string]function.Function{
	"abs": stdlib.AbsoluteFunc, "ceil": stdlib.CeilFunc, "chomp": stdlib.ChompFunc, "cidrhost": cidr.HostFunc,
	"cidrnetmask": cidr.NetmaskFunc, "cidrsubnet": cidr.SubnetFunc, "coalesce": stdlib.CoalesceFunc,
	"contains": stdlib.ContainsFunc, "csvdecode": stdlib.CSVDecodeFunc, "distinct": stdlib.DistinctFunc,
	"floor": stdlib.FloorFunc, "format": stdlib.FormatFunc, "formatdate": stdlib.FormatDateFunc,
	"indent": stdlib.IndentFunc, "join": stdlib.JoinFunc, "jsondecode": stdlib.JSONDecodeFunc,
	"jsonencode": stdlib.JSONEncodeFunc, "keys": stdlib.KeysFunc, "log": stdlib.LogFunc, "lower": stdlib.LowerFunc,
	"max": stdlib.MaxFunc, "min": stdlib.MinFunc, "parseint": stdlib.ParseIntFunc, "pow": stdlib.PowFunc,
	"range": stdlib.RangeFunc, "replace": stdlib.ReplaceFunc, "signum": stdlib.SignumFunc, "sort": stdlib.SortFunc,
	"split": stdlib.SplitFunc, "strlen": stdlib.StrlenFunc, "strrev": stdlib.ReverseFunc, "substr": stdlib.SubstrFunc,
	"title": stdlib.TitleFunc, "trim": stdlib.TrimFunc, "trimspace": stdlib.TrimSpaceFunc, "upper": stdlib.UpperFunc,
	"yamldecode": ctyyaml.YAMLDecodeFunc, "yamlencode": ctyyaml.YAMLEncodeFunc,
}

func main() {
	text, err := os.ReadFile(file)
	check(err)
	var all []answer
	check(json.Unmarshal(text, &all))
	for i := range all {
		all[i] = ask(all[i].Expression)
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	check(encoder.Encode(all))
	check(os.WriteFile(file, out.Bytes(), 0o644))
}

func ask(expression string) answer {
	result := answer{Expression: expression}
	parsed, problems := hclsyntax.ParseConfig([]byte("a = "+expression+"\n"), "input.hcl", hcl.InitialPos)
	if problems.HasErrors() {
		return refused(result, problems)
	}
	attributes, problems := parsed.Body.JustAttributes()
	if problems.HasErrors() {
		return refused(result, problems)
	}
	value, problems := attributes["a"].Expr.Value(&hcl.EvalContext{Functions: functions})
	if problems.HasErrors() {
		return refused(result, problems)
	}
	written, err := ctyjson.Marshal(value, value.Type())
	if err != nil {
		result.Error = err.Error()
		return result
	}
	result.Value = string(written)
	return result
}

func refused(result answer, problems hcl.Diagnostics) answer {
	result.Error = problems[0].Summary + "; " + strings.SplitN(problems[0].Detail, "\ngoroutine", 2)[0]
	return result
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
