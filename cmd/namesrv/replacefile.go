package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
	"github.com/urfave/cli/v2"
)

// maxLinks bounds how many symbolic links a name leads through, as Linux does.
const maxLinks = 40

// replaceFile writes a file that is whole or as it was before. Only a regular file is
// ever replaced: a symbolic link stays and what it points at is written, and devices,
// pipes, sockets and folders are left alone.
func replaceFile(path string, text []byte, mode fs.FileMode, options ...renameio.Option) error {
	target, err := fileTarget(path)
	if err != nil {
		return err
	}
	return named(path, renameio.WriteFile(target, text, mode, options...))
}

// named tells an error of the file that was given, not of the temporary one beside it
// that takes its place.
func named(path string, err error) error {
	var ofFile *fs.PathError
	var ofMove *os.LinkError
	switch {
	case errors.As(err, &ofFile):
		return &fs.PathError{Op: "write", Path: path, Err: ofFile.Err}
	case errors.As(err, &ofMove):
		return &fs.PathError{Op: "write", Path: path, Err: ofMove.Err}
	}
	return err
}

// fileTarget is the name of the regular file, there or not, that a name leads to.
func fileTarget(path string) (string, error) {
	if found, err := os.Stat(path); err == nil && !found.Mode().IsRegular() { // for links of /proc too, which name no file
		return "", fmt.Errorf("%s is no regular file and was not touched: give the name of a file", path)
	}
	target := path
	for range maxLinks {
		found, err := os.Lstat(target)
		if errors.Is(err, fs.ErrNotExist) || err == nil && found.Mode()&fs.ModeSymlink == 0 {
			return target, nil
		}
		if err != nil {
			return "", err
		}
		if target, err = followed(target); err != nil {
			return "", err
		}
	}
	return "", fmt.Errorf("%s leads through more than %d symbolic links: give the name of a file", path, maxLinks)
}

// followed is what a symbolic link points at, seen from where the link really is.
func followed(link string) (string, error) {
	to, err := os.Readlink(link)
	if err != nil || filepath.IsAbs(to) {
		return to, err
	}
	dir, _ := filepath.Split(link)
	if dir == "" {
		dir = "."
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", err
	}
	return dir + string(filepath.Separator) + to, nil // not cleaned: a part of it may be a link again
}

// outputArgument is the only argument of a command, the name of a file that it may
// write. That is checked before any server is asked.
func outputArgument(c *cli.Context) (string, error) {
	args, err := arguments(c, "FILE")
	if err != nil {
		return "", err
	}
	if args[0] == "-" {
		return "", usagef(c, "FILE is -: it is not written to standard output, give the name of a file (./- for one called so)")
	}
	_, err = fileTarget(args[0])
	return args[0], err
}
