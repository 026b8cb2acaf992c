package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"namesrv/internal/properties"
	"namesrv/internal/settings"
	"namesrv/remoting/gate"
)

// flagProperty takes what the stock server takes from its JVM.
const flagProperty = "D"

// stockTLSFile is read when it is there and tls.config.file names no other.
const stockTLSFile = "/etc/rocketmq/tls.properties"

// repeated is the value of a flag that may be given several times. The library's own
// kind cuts each at commas, which paths and passwords may hold.
type repeated []string

// Set adds a value.
func (r *repeated) Set(value string) error {
	*r = append(*r, value)
	return nil
}

// String is for the help text, where there is no default.
func (r *repeated) String() string { return "" }

func propertyFlag() cli.Flag {
	return &cli.GenericFlag{Name: flagProperty, Value: new(repeated),
		Usage: "`KEY=VALUE` of TLS on the client port, under the stock names, as in -D tls.server.mode=enforcing; may be repeated; the file of -c takes the same keys"}
}

// takeProperties puts the properties of the command line over those of the file.
// Secrets stay apart: the settings are written to a file when one is changed.
func (cfg *serverConfig) takeProperties(c *cli.Context) error {
	given, ok := c.Generic(flagProperty).(*repeated)
	if !ok {
		return nil
	}
	cfg.Secrets = make(map[string]string)
	shown := make(map[string]string)
	for _, property := range *given {
		name, value, found := strings.Cut(property, "=")
		key, known := settings.Lookup(name)
		switch {
		case !found:
			return fmt.Errorf("-D %q: use KEY=VALUE", property)
		case !known || !strings.HasPrefix(name, "tls."):
			return fmt.Errorf("-D %q is no setting of TLS", name)
		case key.Secret:
			cfg.Secrets[name] = value
		default:
			shown[name] = value
		}
	}
	var err error
	cfg.Settings, _, err = cfg.Settings.With(shown)
	return err
}

// tlsValues are the settings of TLS in force.
type tlsValues struct {
	cfg  *serverConfig
	file map[string]string // of tls.config.file, which comes first
}

// loadTLSValues reads the file of tls.config.file. The one of the stock default may
// be missing; one that was named may not: without it the server would make a
// certificate of its own and ask clients for none.
func loadTLSValues(cfg *serverConfig) (tlsValues, error) {
	v := tlsValues{cfg: cfg}
	path := v.text(settings.TLSConfigFile)
	named := path != ""
	if !named {
		path = stockTLSFile
	}
	text, err := readFile(path, maxProperties)
	if errors.Is(err, fs.ErrNotExist) && !named {
		return v, nil
	}
	if err == nil {
		v.file, err = properties.Parse(text)
	}
	if err != nil {
		return v, fmt.Errorf("%s %s: %w", settings.TLSConfigFile, path, err)
	}
	for _, name := range []string{settings.TLSServerMode, settings.TLSEnable, settings.TLSConfigFile} {
		delete(v.file, name) // never taken from it
	}
	return v, nil
}

// text returns the value of a setting, "" without one.
func (v tlsValues) text(name string) string {
	if value, given := v.file[name]; given {
		return value
	}
	if value, given := v.cfg.Secrets[name]; given {
		return value
	}
	value, _ := v.cfg.Settings.Value(name)
	return value
}

// yes reads a switch as Java does: everything but true is false.
func (v tlsValues) yes(name string, def bool) bool {
	value := v.text(name)
	if value == "" {
		return def
	}
	return strings.EqualFold(value, "true")
}

// testMode is on in a server that was told nothing about TLS.
func (v tlsValues) testMode() bool { return v.yes(settings.TLSTestMode, true) }

// clientGate makes what every connection of the client port goes through. When the
// files of TLS cannot be used it is an error only if TLS is enforced.
func clientGate(cfg *serverConfig, mode gate.Mode) (*gate.Gate, error) {
	log := cfg.Logger.Named("tls")
	if mode == gate.Disabled {
		return gate.New(gate.Config{Mode: mode})
	}
	values, err := loadTLSValues(cfg)
	if err != nil && mode == gate.Permissive {
		log.Warn("clients that want TLS are refused", "error", err)
		return gate.New(gate.Config{Mode: gate.Disabled})
	}
	if err != nil {
		return nil, err
	}
	server := values.server()
	g, err := gate.New(gate.Config{Mode: mode, TLS: server, Logger: log})
	if errors.Is(err, gate.ErrNoFile) {
		err = fmt.Errorf("%s and %s: %w", settings.TLSServerCert, settings.TLSServerKey, err)
	}
	if err != nil {
		return nil, fmt.Errorf("TLS is enforced, but cannot be served: %w", err)
	}
	log.Info("the client port speaks TLS", "mode", mode, "testMode", server.SelfSigned, "certificate", server.Identity.CertFile,
		"needClientAuth", values.text(settings.TLSServerClientAuth), "verifyClient", server.VerifyClient)
	return g, nil
}

// tlsMode reads the mode, once: it warns. As in the stock server, what is no mode is permissive.
func tlsMode(cfg *serverConfig) gate.Mode {
	name, _ := cfg.Settings.Value(settings.TLSServerMode)
	mode, known := gate.ParseMode(name)
	if !known && name != "" {
		cfg.Logger.Warn("not a mode of TLS: it counts as permissive", "setting", settings.TLSServerMode, "value", name)
	}
	return mode
}

func (v tlsValues) server() gate.ServerTLS {
	return gate.ServerTLS{
		SelfSigned: v.testMode(),
		Identity: gate.Identity{CertFile: v.text(settings.TLSServerCert), KeyFile: v.text(settings.TLSServerKey),
			KeyPassword: v.text(settings.TLSServerPassword)},
		ClientAuth:   v.clientAuth(),
		VerifyClient: v.yes(settings.TLSServerVerify, false),
		TrustFile:    v.text(settings.TLSServerTrust),
	}
}

// clientAuth reads what clients are asked for. What is not known is none, as in the
// stock server.
func (v tlsValues) clientAuth() gate.ClientAuth {
	value := strings.ToLower(v.text(settings.TLSServerClientAuth))
	switch value {
	case "optional":
		return gate.OptionalClientCert
	case "require":
		return gate.RequiredClientCert
	}
	if !slices.Contains([]string{"", "none"}, strings.TrimSpace(value)) {
		v.cfg.Logger.Warn("not known: clients are asked for no certificate", "setting", settings.TLSServerClientAuth, "value", value)
	}
	return gate.NoClientCert
}

// brokerDial makes connections to brokers: over TLS when tls.enable says so, or when
// the client port takes nothing else. nil stands for plain text.
func brokerDial(cfg *serverConfig, mode gate.Mode) (func(context.Context, string) (net.Conn, error), error) {
	if enable, _ := cfg.Settings.Value(settings.TLSEnable); !strings.EqualFold(enable, "true") && mode != gate.Enforcing {
		return nil, nil
	}
	values, err := loadTLSValues(cfg)
	if err != nil {
		return nil, err
	}
	dialer, err := gate.NewDialer(values.client(), cfg.Logger.Named("tls"))
	if err != nil {
		return nil, fmt.Errorf("TLS to brokers: %w", err)
	}
	return dialer.Dial, nil
}

func (v tlsValues) client() gate.ClientTLS {
	if v.testMode() {
		return gate.ClientTLS{}
	}
	return gate.ClientTLS{
		Identity: gate.Identity{CertFile: v.text(settings.TLSClientCert), KeyFile: v.text(settings.TLSClientKey),
			KeyPassword: v.text(settings.TLSClientPassword)},
		VerifyServer: v.yes(settings.TLSClientVerify, false),
		TrustFile:    v.text(settings.TLSClientTrust),
	}
}
