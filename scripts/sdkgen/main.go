// Command sdkgen writes a Pulumi SDK from a package schema, as `pulumi package gen-sdk` does where a language's host is installed.
//
//	go run . nodejs ../../provider/schema.json ../../sdk/nodejs
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/pulumi/pulumi/pkg/v3/codegen/nodejs"
	"github.com/pulumi/pulumi/pkg/v3/codegen/schema"
)

const tool = "pulumi-liqo"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("usage: sdkgen nodejs SCHEMA FOLDER")
	}
	language, schemaFile, folder := args[0], args[1], args[2]
	pkg, err := bind(schemaFile)
	if err != nil {
		return err
	}
	files, err := generate(language, pkg)
	if err != nil {
		return err
	}
	for name, content := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// bind reads the schema as the engine does; a warning counts as an error, so that none creeps in.
func bind(file string) (*schema.Package, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var spec schema.PackageSpec
	if err := json.Unmarshal(text, &spec); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	pkg, diagnostics, err := schema.BindSpec(spec, schema.NewPluginLoader(nil), schema.ValidationOptions{})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(diagnostics) > 0 {
		return nil, fmt.Errorf("%s: %w", file, diagnostics)
	}
	return pkg, nil
}

func generate(language string, pkg *schema.Package) (map[string][]byte, error) {
	switch language {
	case "nodejs":
		files, err := nodejs.GeneratePackage(tool, pkg, nil, nil, false, nil)
		if err != nil {
			return nil, err
		}
		return withRootImports(files), nil
	default:
		return nil, fmt.Errorf("no generator for %q; there is nodejs", language)
	}
}

var rootImport = regexp.MustCompile(`from "\./(utilities|types/(?:input|output|enums))";`)

// withRootImports lets files in folders import the root's modules by the right path. The generator computes it with filepath.Rel(folder, ""), which
// since Go 1.25 no longer ends in "/.", so that one step up is lost.
func withRootImports(files map[string][]byte) map[string][]byte {
	for name, content := range files {
		folder := path.Dir(name)
		if folder == "." || !strings.HasSuffix(name, ".ts") {
			continue
		}
		up := strings.Repeat("../", strings.Count(folder, "/")+1)
		files[name] = rootImport.ReplaceAll(content, []byte(`from "`+up+`$1";`))
	}
	return files
}
