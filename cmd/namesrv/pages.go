package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// indexPage lists the commands and the exit codes; every other page is one command
// with its subcommands.
const indexPage = "README.md"

// pagesCommand writes the pages of docs/commands. It is for those who work on this
// program; see the go:generate line in doc.go.
func pagesCommand() *cli.Command {
	return &cli.Command{
		Name: "pages", Hidden: true, Usage: "write the text of --help as Markdown pages", ArgsUsage: "DIR",
		Description: "Example:\n  namesrv pages docs/commands",
		Action: func(c *cli.Context) error {
			args, err := arguments(c, "DIR")
			if err != nil {
				return err
			}
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			for name, text := range pages(newApp(nil, nil, nil)) { // this one has got the library's own command too
				if err := replaceFile(filepath.Join(args[0], name), []byte(text), 0o644); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// pages returns the text of every page, by file name.
func pages(app *cli.App) map[string]string {
	texts := map[string]string{indexPage: index(app)}
	for _, command := range app.Commands {
		if !command.Hidden {
			var page strings.Builder
			writeCommand(&page, command, "namesrv", 1)
			texts[command.Name+".md"] = page.String()
		}
	}
	return texts
}

func index(app *cli.App) string {
	var page strings.Builder
	description, examples := apart(app.Description)
	fmt.Fprintf(&page, "# %s\n\n%s.\n\n%s\n", app.Name, sentence(app.Usage), upTo(description, "Exit codes:"))
	writeExamples(&page, examples)
	page.WriteString("\n| command | |\n|---|---|\n")
	for _, command := range app.Commands {
		if command.Hidden {
			continue
		}
		fmt.Fprintf(&page, "| [%s](%s.md) | %s |\n", command.Name, command.Name, cellText(command.Usage))
		for _, sub := range command.Subcommands {
			fmt.Fprintf(&page, "| [%s %s](%s.md#%s) | %s |\n", command.Name, sub.Name, command.Name, anchor("namesrv "+command.Name+" "+sub.Name), cellText(sub.Usage))
		}
	}
	page.WriteString("\n## Exit codes\n\n| code | meaning |\n|---|---|\n")
	for _, e := range exitCodes() {
		fmt.Fprintf(&page, "| %d | %s |\n", e.code, e.meaning)
	}
	page.WriteString("\n`-o json` prints one JSON value; [json.md](json.md) describes each.\n")
	return page.String()
}

// writeCommand writes a command as a section, and its subcommands below it.
func writeCommand(page *strings.Builder, command *cli.Command, parent string, level int) {
	name := parent + " " + command.Name
	description, examples := apart(command.Description)
	usage := name
	if len(command.Flags) > 0 {
		usage += " [options]"
	}
	switch {
	case command.ArgsUsage != "":
		usage += " " + command.ArgsUsage
	case len(command.Subcommands) > 0:
		usage += " COMMAND"
	}
	fmt.Fprintf(page, "%s %s\n\n%s.\n\n```\n%s\n```\n", strings.Repeat("#", level), name, sentence(command.Usage), usage)
	if description != "" {
		fmt.Fprintf(page, "\n%s\n", description)
	}
	writeExamples(page, examples)
	writeFlags(page, command.Flags)
	for _, sub := range command.Subcommands {
		if !sub.Hidden {
			page.WriteString("\n")
			writeCommand(page, sub, name, level+1)
		}
	}
}

func writeExamples(page *strings.Builder, examples string) {
	if examples != "" {
		fmt.Fprintf(page, "\n```sh\n%s\n```\n", examples)
	}
}

func writeFlags(page *strings.Builder, flags []cli.Flag) {
	if len(flags) == 0 {
		return
	}
	page.WriteString("\n| option | meaning | default | variable |\n|---|---|---|---|\n")
	for _, flag := range flags {
		documented, ok := flag.(cli.DocGenerationFlag)
		if !ok {
			continue
		}
		placeholder, usage := unquoted(documented.GetUsage())
		var names []string
		for _, name := range flag.Names() {
			names = append(names, dashed(name))
		}
		written := strings.Join(names, ", ")
		if documented.TakesValue() {
			written += " " + placeholder
		}
		var variables []string
		for _, variable := range documented.GetEnvVars() {
			variables = append(variables, "`"+variable+"`")
		}
		fmt.Fprintf(page, "| `%s` | %s | %s | %s |\n", written, cellText(usage), cellText(defaultOf(documented)), strings.Join(variables, ", "))
	}
}

// defaultOf is the default of a flag as the help text shows it.
func defaultOf(flag cli.DocGenerationFlag) string {
	text := strings.Trim(flag.GetDefaultText(), `"`)
	if !flag.TakesValue() && text == "false" {
		return ""
	}
	return text
}

// unquoted splits a flag's usage into the word in backquotes and the whole without them.
func unquoted(usage string) (placeholder, text string) {
	before, rest, found := strings.Cut(usage, "`")
	word, after, closed := strings.Cut(rest, "`")
	if !found || !closed {
		return "VALUE", usage
	}
	return word, before + word + after
}

// apart splits a description into its text and its examples, without indentation.
func apart(description string) (text, examples string) {
	lines := strings.Split(description, "\n")
	at := slices.IndexFunc(lines, func(line string) bool { return line == "Example:" || line == "Examples:" })
	if at < 0 {
		return description, ""
	}
	for i := range lines[at+1:] {
		lines[at+1+i] = strings.TrimPrefix(lines[at+1+i], "  ")
	}
	return strings.TrimSpace(strings.Join(lines[:at], "\n")), strings.Join(lines[at+1:], "\n")
}

// upTo is the text before a mark.
func upTo(text, mark string) string {
	head, _, _ := strings.Cut(text, mark)
	return strings.TrimSpace(head)
}

// sentence begins a text with a capital.
func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// cellText keeps a text from ending a cell of a table.
func cellText(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// anchor is the fragment that a heading is reached by.
func anchor(heading string) string { return strings.ReplaceAll(strings.ToLower(heading), " ", "-") }
