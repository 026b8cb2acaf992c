package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
)

const (
	flagDir    = "dir"
	flagDays   = "days"
	flagName   = "name"
	flagHost   = "host"
	flagClient = "client"
)

const (
	caDays   = 3650
	certDays = 365
	maxDays  = 36500
)

// tlsCommand makes the files that TLS between peers, and with clients, takes.
func tlsCommand() *cli.Command {
	return &cli.Command{
		Name:  "tls",
		Usage: "make certificates for the peer port and the client port",
		Description: "They ask no server. Keys are ECDSA P-256 in PKCS#8. Files are never replaced, and are readable by their owner\n" +
			"only, but for a CA's certificate. Peers need a CA that signs nobody else: whoever shows a certificate of it on the\n" +
			"peer port counts as a peer.\n\n" +
			"Examples:\n  namesrv tls ca --dir peers\n  namesrv tls cert ns1 --dir peers --host ns1 --host 10.0.0.1",
		Subcommands: []*cli.Command{
			{
				Name: "ca", Usage: "make a CA: DIR/ca.pem, which everybody gets, and DIR/ca-key.pem, which stays where it is",
				Description: "DIR is made where it is not there.\n\nExample:\n  namesrv tls ca --dir peers",
				Flags: []cli.Flag{dirFlag(), daysFlag(caDays),
					&cli.StringFlag{Name: flagName, Usage: "`NAME` in the certificate", Value: "namesrv CA"}, outputFlag()},
				Action: tlsCA,
			},
			{
				Name: "cert", Usage: "make a certificate for a peer or a client: DIR/NAME.pem and DIR/NAME-key.pem", ArgsUsage: "NAME",
				Description: "It is good for both ends of a connection, as a peer's must be, whose hosts must hold the one of its\n" +
					"--peer-advertise, by which the others call it. With --client it is good for whoever calls, and for nothing else.\n\n" +
					"Examples:\n  namesrv tls cert ns1 --dir peers --host ns1 --host 10.0.0.1\n  namesrv tls cert broker-a --dir clients --client",
				Flags: []cli.Flag{dirFlag(), daysFlag(certDays),
					&cli.StringSliceFlag{Name: flagHost, Usage: "`HOST` name or IP address that it is for; may be repeated", DefaultText: "NAME"},
					&cli.BoolFlag{Name: flagClient, Usage: "for a client: no server and no peer can use it"}, outputFlag()},
				Action: tlsCert,
			},
		},
	}
}

func dirFlag() cli.Flag {
	return &cli.StringFlag{Name: flagDir, Usage: "`DIR` that holds the CA, and gets the files", Value: "."}
}

func daysFlag(days int) cli.Flag {
	return &cli.IntFlag{Name: flagDays, Usage: "`DAYS` that it is valid, from now on", Value: days}
}

// madePair is what is shown of new files.
type madePair struct {
	Name        string    `json:"name"`
	Certificate string    `json:"certificate"` // file
	Key         string    `json:"key"`         // file
	Hosts       []string  `json:"hosts"`       // none for a CA
	Expires     time.Time `json:"expires"`
}

func tlsCA(c *cli.Context) error {
	if _, err := arguments(c); err != nil {
		return err
	}
	days, err := daysOf(c)
	if err != nil {
		return err
	}
	ca, err := newCA(c.String(flagDir), c.String(flagName), time.Now(), days)
	if err != nil {
		return err
	}
	return showPair(c, ca)
}

func tlsCert(c *cli.Context) error {
	args, err := arguments(c, "NAME")
	if err != nil {
		return err
	}
	name := args[0]
	if !nodeIDs.MatchString(name) || name == caName || strings.HasSuffix(name, "-key") {
		return usagef(c, "NAME %q: use letters, digits, dots, hyphens and underscores; it names the files", name)
	}
	days, err := daysOf(c)
	if err != nil {
		return err
	}
	hosts := c.StringSlice(flagHost)
	if len(hosts) == 0 {
		hosts = []string{name}
	}
	if at := slices.IndexFunc(hosts, notAHost); at >= 0 {
		return usagef(c, "--host %q: give a host name or an IP address, without a port", hosts[at])
	}
	use := peerUse
	if c.Bool(flagClient) {
		use = clientUse
	}
	pair, err := newCertificate(c.String(flagDir), certificateRequest{name: name, hosts: hosts, use: use, from: time.Now(), days: days})
	if err != nil {
		return err
	}
	return showPair(c, pair)
}

func notAHost(host string) bool {
	return host == "" || strings.ContainsAny(host, " \t/@[]") || strings.Count(host, ":") == 1
}

// daysOf checks what both commands have in common.
func daysOf(c *cli.Context) (int, error) {
	days := c.Int(flagDays)
	if days < 1 || days > maxDays {
		return 0, usagef(c, "--days %d: it must be from 1 to %d", days, maxDays)
	}
	return days, checkOutput(c)
}

func showPair(c *cli.Context, p keyPair) error {
	made := madePair{Name: p.cert.Subject.CommonName, Certificate: p.certFile, Key: p.keyFile, Hosts: slices.Clone(p.cert.DNSNames), Expires: p.cert.NotAfter}
	for _, ip := range p.cert.IPAddresses {
		made.Hosts = append(made.Hosts, ip.String())
	}
	if made.Hosts == nil {
		made.Hosts = []string{}
	}
	return show(c, made, func(w io.Writer) {
		fmt.Fprintf(w, "wrote %s and %s, valid until %s\n", made.Certificate, made.Key, made.Expires.Format(time.DateOnly))
	})
}
