package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/urfave/cli/v2"
)

// version is set by the linker of a release.
var version string

// programVersion is the version of this program: what the release was built as,
// else the commit it was built from, else "devel".
func programVersion() string {
	if version != "" {
		return version
	}
	if commit := buildSetting("vcs.revision"); len(commit) >= 12 {
		return "devel-" + commit[:12]
	}
	return "devel"
}

// buildSetting reads what the compiler noted about the build.
func buildSetting(key string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, setting := range info.Settings {
		if setting.Key == key {
			return setting.Value
		}
	}
	return ""
}

// versionCommand prints the version of this program; it asks no server.
func versionCommand() *cli.Command {
	return &cli.Command{
		Name:        "version",
		Usage:       "print the version of this program",
		Description: "The versions of running peers are in cluster members.\n\nExample:\n  namesrv version -o json",
		Flags:       []cli.Flag{outputFlag()},
		Action: func(c *cli.Context) error {
			if _, err := arguments(c); err != nil {
				return err
			}
			if err := checkOutput(c); err != nil {
				return err
			}
			shown := map[string]string{
				"version": programVersion(),
				"commit":  buildSetting("vcs.revision"),
				"go":      runtime.Version(),
				"system":  runtime.GOOS + "/" + runtime.GOARCH,
			}
			return show(c, shown, func(w io.Writer) {
				fmt.Fprintf(w, "namesrv %s (%s, %s)\n", shown["version"], shown["go"], shown["system"])
			})
		},
	}
}
