package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// sources are the files of packages, by folder or by their own name: each is read once.
type sources struct {
	root string
	read map[string][]source
}

type source struct {
	name, text string
	decls      map[string]span // by Name or Type.Method
}

// span is from a byte of a text to another.
type span struct{ from, to int }

// files returns a file, or those of a package without its tests.
func (s *sources) files(place string) ([]source, error) {
	if all, ok := s.read[place]; ok {
		return all, nil
	}
	names := []string{filepath.Join(s.root, filepath.FromSlash(place))}
	folder := !isFile(place)
	if folder {
		names, _ = filepath.Glob(filepath.Join(names[0], "*.go"))
	}
	var all []source
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		src := source{name: place, text: string(text), decls: map[string]span{"": {0, len(text)}}}
		if folder {
			src.name = path.Join(place, filepath.Base(name))
		}
		if !lua(src.name) {
			if err := src.declare(); err != nil {
				return nil, err
			}
		}
		all = append(all, src)
	}
	s.read[place] = all
	return all, nil
}

// isFile: a place is a file, not a package.
func isFile(place string) bool { return lua(place) || path.Ext(place) == ".go" }

// declare finds what a file declares.
func (src *source) declare() error {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, src.name, src.text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	add := func(name string, n ast.Node) {
		src.decls[name] = span{fset.Position(n.Pos()).Offset, fset.Position(n.End()).Offset}
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil {
				name = receiver.FindString(src.text[d.Recv.List[0].Type.Pos()-1:]) + "." + name
			}
			add(name, d)
		case *ast.GenDecl:
			for _, sp := range d.Specs {
				switch sp := sp.(type) {
				case *ast.TypeSpec:
					add(sp.Name.Name, sp)
				case *ast.ValueSpec:
					for _, name := range sp.Names {
						add(name.Name, sp)
					}
				}
			}
		}
	}
	return nil
}

var receiver = regexp.MustCompile(`\w+`)

// plant makes the faulty file.
func (m *mutant) plant(s *sources) error {
	place, decl, _ := strings.Cut(m.in, " ")
	all, err := s.files(place)
	if err != nil {
		return fmt.Errorf("%s: %w", m.name, err)
	}
	var found []source
	for _, src := range all {
		if _, ok := src.decls[decl]; ok {
			found = append(found, src)
		}
	}
	if len(found) != 1 {
		return fmt.Errorf("%s: %d files of %s declare %q%s", m.name, len(found), place, decl, elsewhere(all, m.changes[0].old))
	}
	m.file, m.faulty = found[0].name, found[0].text
	at := found[0].decls[decl]
	for _, c := range m.changes {
		hits := find(m.faulty[at.from:at.to], c.old, lua(m.file))
		if len(hits) != 1 {
			return fmt.Errorf("%s: %s (%s) has %d of\n\t%s\n  the nearest is\n\t%s", m.name, decl, m.file, len(hits),
				c.old, nearest(m.faulty[at.from:at.to], c.old))
		}
		from, to := at.from+hits[0].from, at.from+hits[0].to
		m.faulty = m.faulty[:from] + c.new + m.faulty[to:]
		at.to += len(c.new) - (to - from)
	}
	return nil
}

// elsewhere tells what else has an anchor.
func elsewhere(all []source, anchor string) (where string) {
	for _, src := range all {
		for name, at := range src.decls {
			if name != "" && len(find(src.text[at.from:at.to], anchor, false)) > 0 {
				where += fmt.Sprintf("\n  its anchor is in %s (%s)", name, src.name)
			}
		}
	}
	return where
}

// nearest returns the line that has most in common with an anchor.
func nearest(text, anchor string) (line string) {
	want, most := tokens(anchor, false), -1<<30
	for l := range strings.Lines(text) {
		common := 0
		for _, t := range tokens(l, false) {
			if slices.ContainsFunc(want, func(w lexeme) bool { return w.text == t.text }) {
				common += 2
			} else {
				common--
			}
		}
		if common > most {
			line, most = strings.TrimSpace(l), common
		}
	}
	return line
}

// lexeme is a word, a literal or an operator.
type lexeme struct {
	text string
	span
}

// tokens splits code. It leaves out comments and spaces, a line that ends a statement is a semicolon, and no
// semicolon is before a closing bracket or at the end. What Lua writes in another way than Go is some tokens too.
func tokens(text string, lua bool) (all []lexeme) {
	if lua {
		text = luaComment.ReplaceAllStringFunc(text, func(c string) string { return strings.Repeat(" ", len(c)) })
	}
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(text))
	s.Init(file, []byte(text), nil, 0)
	for {
		pos, tok, lit := s.Scan()
		if n := len(all); n > 0 && all[n-1].text == ";" && (tok == token.RBRACE || tok == token.RPAREN || tok == token.EOF) {
			all = all[:n-1]
		}
		switch {
		case tok == token.EOF:
			return all
		case tok == token.SEMICOLON:
			lit = ";"
		case lit == "":
			lit = tok.String()
		}
		from := file.Offset(pos)
		all = append(all, lexeme{lit, span{from, from + len(lit)}})
	}
}

// luaComment is a comment of a script: none of them has two dashes in a string.
var luaComment = regexp.MustCompile(`--[^\n]*`)

// lua reports whether a file is not Go, but a script in Lua or SQL, which have the same comments.
func lua(name string) bool { return path.Ext(name) == ".lua" || path.Ext(name) == ".sql" }

// find returns where text has an anchor, in which { ... } is any block.
func find(text, anchor string, lua bool) (hits []span) {
	have, want := tokens(text, lua), tokens(anchor, lua)
	for i := range have {
		if n := match(have[i:], want); n > 0 {
			hits = append(hits, span{have[i].from, have[i+n-1].to})
		}
	}
	return hits
}

// match returns how many tokens at the front of have are those of want.
func match(have, want []lexeme) (n int) {
	for _, w := range want {
		if w.text == "..." && n > 0 && have[n-1].text == "{" {
			for depth := 1; n < len(have); n++ {
				switch have[n].text {
				case "{":
					depth++
				case "}":
					depth--
				}
				if depth == 0 {
					break
				}
			}
			continue
		}
		if n == len(have) || have[n].text != w.text {
			return 0
		}
		n++
	}
	return n
}
