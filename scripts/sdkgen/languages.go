package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"net/http"
	"path"
	"regexp"
	"strings"

	"github.com/pulumi/pulumi-java/pkg/codegen/java"
	"github.com/pulumi/pulumi/pkg/v3/codegen/dotnet"
	golang "github.com/pulumi/pulumi/pkg/v3/codegen/go"
	"github.com/pulumi/pulumi/pkg/v3/codegen/nodejs"
	"github.com/pulumi/pulumi/pkg/v3/codegen/python"
	"github.com/pulumi/pulumi/pkg/v3/codegen/schema"
)

// generators has one for each language, by the name of its folder.
var generators = map[string]func(*schema.Package) (map[string][]byte, error){
	"nodejs": generateNodejs,
	"python": generatePython,
	"go":     generateGo,
	"dotnet": generateDotnet,
	"java":   generateJava,
}

func generateNodejs(pkg *schema.Package) (map[string][]byte, error) {
	files, err := nodejs.GeneratePackage(tool, pkg, nil, nil, false, nil)
	if err != nil {
		return nil, err
	}
	for name, content := range files {
		if up := stepsUp(name, 0); up > 0 && path.Ext(name) == ".ts" {
			files[name] = rootImportNodejs.ReplaceAll(content, []byte(`from "`+strings.Repeat("../", up)+`$1";`))
		}
	}
	return files, nil
}

func generatePython(pkg *schema.Package) (map[string][]byte, error) {
	files, err := python.GeneratePackage(tool, pkg, nil, nil)
	if err != nil {
		return nil, err
	}
	for name, content := range files {
		if up := stepsUp(name, 1); up > 0 && strings.HasPrefix(path.Ext(name), ".py") {
			files[name] = rootImportPython.ReplaceAll(content, []byte("from ."+strings.Repeat(".", up)+" import $1"))
		}
	}
	return files, nil
}

func generateGo(pkg *schema.Package) (map[string][]byte, error) {
	return golang.GeneratePackage(tool, pkg, nil)
}

func generateJava(pkg *schema.Package) (map[string][]byte, error) {
	return java.GeneratePackage(tool, pkg, nil, nil, false, false)
}

//go:embed logo.png
var logo []byte

// generateDotnet hands the generator the logo itself: it would download one, and nothing else here needs a network.
func generateDotnet(pkg *schema.Package) (map[string][]byte, error) {
	transport, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return nil, fmt.Errorf("the default transport is a %T, which knows no further protocols", http.DefaultTransport)
	}
	transport.RegisterProtocol("embedded", embeddedLogo{})
	pkg.LogoURL = "embedded://logo.png"
	return dotnet.GeneratePackage(tool, pkg, nil, nil)
}

type embeddedLogo struct{}

func (embeddedLogo) RoundTrip(request *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK,
		Body:       io.NopCloser(bytes.NewReader(logo)),
		Request:    request,
	}, nil
}

// Generators compute the path from a folder to the root with filepath.Rel(folder, ""), which since Go 1.25 no longer ends in "/.", so that one step up
// is lost, and files in folders would not find the root's modules.
var (
	rootImportNodejs = regexp.MustCompile(`from "\./(utilities|types/(?:input|output|enums))";`)
	rootImportPython = regexp.MustCompile(`(?m)^from \. import (_utilities)\b`)
)

// stepsUp says how many folders a file lies below the root, which is itself so many below the SDK's.
func stepsUp(name string, root int) int {
	return strings.Count(name, "/") - root
}
