package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"namesrv/internal/settings"
)

// overruled says why a setting that was changed and saved is not in force after the
// next start, when the server is called as it was this time; "" when it is.
func (cfg *serverConfig) overruled(name string) string {
	if flag := cfg.ByFlag[name]; flag != "" {
		return "the server was started with " + flag + ", which decides: change that"
	}
	if cfg.ConfigFile == "" {
		return fmt.Sprintf("the server was started without -c and reads no file then; it does with -c %s, which the change was written to", cfg.Settings.ConfigStorePath())
	}
	return ""
}

// noteFlags keeps which settings that can be changed while the server runs were given
// as flags, or as variables, which come before the file.
func (cfg *serverConfig) noteFlags(c *cli.Context) {
	cfg.ByFlag = make(map[string]string)
	if strings.TrimSpace(c.String(flagListen)) != "" {
		cfg.ByFlag[settings.BindAddress], cfg.ByFlag[settings.ListenPort] = "--"+flagListen, "--"+flagListen
	}
	given, _ := c.Generic(flagProperty).(*repeated)
	if given == nil {
		return
	}
	for _, property := range *given {
		name, _, _ := strings.Cut(property, "=")
		cfg.ByFlag[name] = "-D " + name
	}
}
