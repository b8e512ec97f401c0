package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/blang/semver"
	"github.com/hashicorp/hcl/v2"
	"github.com/pulumi/pulumi-java/pkg/codegen/java"
	"github.com/pulumi/pulumi/pkg/v3/codegen"
	"github.com/pulumi/pulumi/pkg/v3/codegen/dotnet"
	golang "github.com/pulumi/pulumi/pkg/v3/codegen/go"
	"github.com/pulumi/pulumi/pkg/v3/codegen/hcl2/syntax"
	"github.com/pulumi/pulumi/pkg/v3/codegen/nodejs"
	"github.com/pulumi/pulumi/pkg/v3/codegen/pcl"
	"github.com/pulumi/pulumi/pkg/v3/codegen/python"
	"github.com/pulumi/pulumi/pkg/v3/codegen/schema"
)

// converters has one for each language, by the word that marks its blocks in documentation.
var converters = map[string]func(*pcl.Program) (map[string][]byte, hcl.Diagnostics, error){
	"typescript": nodejs.GenerateProgram,
	"python":     python.GenerateProgram,
	"go":         golang.GenerateProgram,
	"csharp":     dotnet.GenerateProgram,
	"java":       java.GenerateProgram,
}

// writeExamples turns each program in a folder, NAME.pp in the language that Pulumi converts from, into the others, and prints {NAME: {LANGUAGE: TEXT}}.
func writeExamples(schemaFile, folder string) error {
	text, err := os.ReadFile(schemaFile)
	if err != nil {
		return err
	}
	pkg, err := bind(text)
	if err != nil {
		return fmt.Errorf("%s: %w", schemaFile, err)
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.pp"))
	if err != nil {
		return err
	}
	all := map[string]map[string]string{}
	for _, file := range files {
		converted, err := convert(file, pkg)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		all[strings.TrimSuffix(filepath.Base(file), ".pp")] = converted
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(all)
}

func convert(file string, pkg *schema.Package) (map[string]string, error) {
	converted := map[string]string{}
	for language, generate := range converters {
		// Generators change the program that they are given: each has its own.
		program, err := load(file, onlyPackage{pkg})
		if err != nil {
			return nil, err
		}
		texts, found, err := generate(program)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", language, err)
		}
		if len(found) > 0 {
			return nil, fmt.Errorf("%s: %w", language, found)
		}
		if len(texts) != 1 {
			return nil, fmt.Errorf("%s: %d files, not one", language, len(texts))
		}
		for _, content := range texts {
			converted[language] = string(bytes.TrimSpace(content)) + "\n"
		}
	}
	converted["java"] = mendJava(converted["java"], pkg)
	return converted, nil
}

func load(file string, loader schema.Loader) (*pcl.Program, error) {
	source, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer source.Close()
	parser := syntax.NewParser()
	if err := parser.ParseFile(source, filepath.Base(file)); err != nil {
		return nil, err
	}
	if parser.Diagnostics.HasErrors() {
		return nil, parser.Diagnostics
	}
	program, found, err := pcl.BindProgram(parser.Files, pcl.Loader(loader))
	if err != nil {
		return nil, err
	}
	if len(found) > 0 {
		return nil, found
	}
	return program, nil
}

var (
	javaSetter  = regexp.MustCompile(`\.(\w+)\("(\w+)"\)`)
	javaBuilder = regexp.MustCompile(`\b(\w+Args)\.builder\(\)`)
	javaImport  = regexp.MustCompile(`(?m)^import [\w.]+\.(\w+);\n`)
)

// mendJava does what the generator of Java leaves out: members of enums by their names, where it writes strings, which builders do not take; imports
// of types within lists; and no imports of what is not used.
func mendJava(program string, pkg *schema.Package) string {
	imports := map[string]bool{}
	add := func(folder, name string) {
		imports[fmt.Sprintf("import com.pulumi.%s.%s.%s;\n", pkg.Name, folder, name)] = true
	}
	enums := enumProperties(pkg)
	program = javaSetter.ReplaceAllStringFunc(program, func(call string) string {
		parts := javaSetter.FindStringSubmatch(call)
		for _, enum := range enums[parts[1]] {
			for _, member := range enum.Elements {
				if member.Value == parts[2] {
					name := enum.Token[strings.LastIndex(enum.Token, ":")+1:]
					add("enums", name)
					return fmt.Sprintf(".%s(%s.%s)", parts[1], name, member.Name)
				}
			}
		}
		return call
	})
	for _, builder := range javaBuilder.FindAllStringSubmatch(program, -1) {
		if !strings.Contains(program, "."+builder[1]+";\n") {
			add("inputs", builder[1])
		}
	}
	body := javaImport.ReplaceAllString(program, "")
	for _, line := range javaImport.FindAllStringSubmatch(program, -1) {
		if regexp.MustCompile(`\b` + line[1] + `\b`).MatchString(body) {
			imports[line[0]] = true
		}
	}
	declared, rest, _ := strings.Cut(body, ";\n")
	lines := strings.Join(slices.Sorted(maps.Keys(imports)), "")
	return declared + ";\n\n" + lines + "\n" + strings.TrimLeft(rest, "\n")
}

// enumProperties has the enums that properties of each name may be of.
func enumProperties(pkg *schema.Package) map[string][]*schema.EnumType {
	all := map[string][]*schema.EnumType{}
	add := func(properties []*schema.Property) {
		for _, property := range properties {
			if enum, isEnum := codegen.UnwrapType(property.Type).(*schema.EnumType); isEnum {
				all[property.Name] = append(all[property.Name], enum)
			}
		}
	}
	for _, one := range pkg.Resources {
		add(one.InputProperties)
	}
	for _, one := range pkg.Types {
		if object, isObject := one.(*schema.ObjectType); isObject {
			add(object.Properties)
		}
	}
	return all
}

// onlyPackage loads the one package that the examples are about, from the schema at hand.
type onlyPackage struct{ pkg *schema.Package }

func (one onlyPackage) LoadPackage(name string, _ *semver.Version) (*schema.Package, error) {
	if name != one.pkg.Name {
		return nil, fmt.Errorf("examples use the package %s alone, not %s", one.pkg.Name, name)
	}
	return one.pkg, nil
}

func (one onlyPackage) LoadPackageV2(_ context.Context, descriptor *schema.PackageDescriptor) (*schema.Package, error) {
	return one.LoadPackage(descriptor.Name, descriptor.Version)
}

func (one onlyPackage) LoadPackageReference(name string, version *semver.Version) (schema.PackageReference, error) {
	pkg, err := one.LoadPackage(name, version)
	if err != nil {
		return nil, err
	}
	return pkg.Reference(), nil
}

func (one onlyPackage) LoadPackageReferenceV2(_ context.Context, descriptor *schema.PackageDescriptor) (schema.PackageReference, error) {
	return one.LoadPackageReference(descriptor.Name, descriptor.Version)
}
