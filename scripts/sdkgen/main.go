// Command sdkgen writes the SDKs of all languages from a package schema, as `pulumi package gen-sdk` does where a language's host is installed.
//
//	go run . ../../provider/schema.json ../../sdk
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

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
	if len(args) == 3 && args[0] == "examples" {
		return writeExamples(args[1], args[2])
	}
	if len(args) != 2 {
		return fmt.Errorf("usage: sdkgen [examples] SCHEMA FOLDER")
	}
	return writeSdks(args[0], args[1])
}

func writeSdks(schemaFile, folder string) error {
	text, err := os.ReadFile(schemaFile)
	if err != nil {
		return err
	}
	for language, generate := range generators {
		// Each generator writes its own notes into the package: none may see another's.
		pkg, err := bind(text)
		if err != nil {
			return fmt.Errorf("%s: %w", schemaFile, err)
		}
		files, err := generate(pkg)
		if err != nil {
			return fmt.Errorf("%s: %w", language, err)
		}
		if err := write(filepath.Join(folder, language), files); err != nil {
			return err
		}
	}
	return nil
}

// bind reads the schema as the engine does; a warning counts as an error, so that none creeps in.
func bind(text []byte) (*schema.Package, error) {
	var spec schema.PackageSpec
	if err := json.Unmarshal(text, &spec); err != nil {
		return nil, err
	}
	pkg, diagnostics, err := schema.BindSpec(spec, schema.NewPluginLoader(nil), schema.ValidationOptions{})
	if err != nil {
		return nil, err
	}
	if len(diagnostics) > 0 {
		return nil, diagnostics
	}
	return pkg, nil
}

func write(folder string, files map[string][]byte) error {
	for name, content := range files {
		file := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
