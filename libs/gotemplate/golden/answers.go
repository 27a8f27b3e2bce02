// Fills answers.json with what Go's own text/template makes of each template in it:
//
//	cd libs/gotemplate/golden && go run answers.go
package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"text/template"
)

const file = "answers.json"

type answer struct {
	Template string  `json:"template"`
	Output   *string `json:"output,omitempty"`
	Error    string  `json:"error,omitempty"`
}

type answers struct {
	Data    any      `json:"data"`
	Answers []answer `json:"answers"`
}

func main() {
	text, err := os.ReadFile(file)
	check(err)
	var all answers
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	check(decoder.Decode(&all))
	original := all.Data
	data := typed(original)
	for i := range all.Answers {
		all.Answers[i] = ask(all.Answers[i].Template, data)
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	check(encoder.Encode(all))
	check(os.WriteFile(file, out.Bytes(), 0o644))
}

func ask(text string, data any) answer {
	result := answer{Template: text}
	parsed, err := template.New("t").Parse(text)
	var out strings.Builder
	if err == nil {
		err = parsed.Execute(&out, data)
	}
	if err != nil {
		result.Error = err.Error()
		return result
	}
	output := out.String()
	result.Output = &output
	return result
}

// Whole numbers are ints, as in the structs of Go's clients; without this all were floats.
func typed(value any) any {
	switch value := value.(type) {
	case json.Number:
		if whole, err := value.Int64(); err == nil {
			return int(whole)
		}
		float, err := value.Float64()
		check(err)
		return float
	case []any:
		list := make([]any, len(value))
		for i, item := range value {
			list[i] = typed(item)
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(value))
		for key, item := range value {
			object[key] = typed(item)
		}
		return object
	}
	return value
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
