// Evaluates a Helm chart's templates as Helm does, with Go's own text/template and those of Helm's functions that our chart uses.
// Arguments: the chart's folder, the release's namespace, the values as JSON. Prints the documents.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"text/template"
)

func main() {
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(chart, namespace, valuesText string) error {
	var values map[string]any
	if err := json.Unmarshal([]byte(valuesText), &values); err != nil {
		return err
	}
	set := template.New("chart").Option("missingkey=zero")
	set.Funcs(functions(set))
	files, err := filepath.Glob(filepath.Join(chart, "templates", "*"))
	if err != nil {
		return err
	}
	sort.Strings(files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if _, err := set.New(filepath.Base(file)).Parse(string(text)); err != nil {
			return err
		}
	}
	data := map[string]any{"Values": values, "Release": map[string]any{"Namespace": namespace}}
	for _, file := range files {
		if filepath.Ext(file) != ".yaml" {
			continue
		}
		var out bytes.Buffer
		if err := set.ExecuteTemplate(&out, filepath.Base(file), data); err != nil {
			return err
		}
		fmt.Printf("---\n%s\n", out.String())
	}
	return nil
}

func functions(set *template.Template) template.FuncMap {
	return template.FuncMap{
		"include": func(name string, data any) (string, error) {
			var out bytes.Buffer
			err := set.ExecuteTemplate(&out, name, data)
			return out.String(), err
		},
		"required": func(message string, value any) (any, error) {
			if value == nil || value == "" {
				return nil, fmt.Errorf("%s", message)
			}
			return value, nil
		},
		"toYaml": toYaml,
		"nindent": func(spaces int, text string) string {
			indent := "\n" + strings.Repeat(" ", spaces)
			return indent + strings.ReplaceAll(text, "\n", indent)
		},
		"quote":    func(value any) string { return fmt.Sprintf("%q", toString(value)) },
		"join":     join,
		"replace":  func(old, new, text string) string { return strings.ReplaceAll(text, old, new) },
		"int":      func(value any) int { return int(value.(float64)) },
		"list":     func(items ...any) []any { return items },
		"append":   func(items []any, item any) []any { return append(items, item) },
		"toString": toString,
	}
}

// A map of texts, one on each line.
func toYaml(value any) string {
	fields := value.(map[string]any)
	keys := make([]string, 0, len(fields))
	for key := range fields {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	lines := make([]string, len(keys))
	for index, key := range keys {
		lines[index] = fmt.Sprintf("%s: %q", key, toString(fields[key]))
	}
	return strings.Join(lines, "\n")
}

func join(separator string, value any) string {
	items, _ := value.([]any)
	texts := make([]string, len(items))
	for index, item := range items {
		texts[index] = toString(item)
	}
	return strings.Join(texts, separator)
}

func toString(value any) string {
	if value == nil {
		return ""
	}
	return fmt.Sprint(value)
}
