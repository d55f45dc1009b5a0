// A whole bot in one Go file: it plays any legal move, in every game that an engine knows. It needs no module.
//
//	build    go build -o legal_bot bots/examples/legal_bot.go
//	run      ./legal_bot ggp engine
//	match    ggp match yugo ./legal_bot random
//
// It starts the engine of the command line (without one: ggp engine) and keeps no board of its own: it
// passes on what it receives, and draws one of the moves that the engine lists. Replace choose by something better.
package main

import (
	"bufio"
	"io"
	"log"
	"math/rand"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

var commands = []string{"genmove", "ggp-games", "ggp-new", "known_command", "list_commands", "name", "play",
	"protocol_version", "quit", "version"}

const longest = 65536 // bytes of a line, without its end

// One of the legal moves: points, but also pass, swap-sides, bid:7 or dead: where the game asks for that.
func choose(moves []string) string {
	return moves[chance.Intn(len(moves))]
}

var chance = rand.New(rand.NewSource(time.Now().UnixNano()))

// An engine is the process that knows the rules; it ends when its input does, so it never outlives the bot.
type engine struct {
	process *exec.Cmd
	to      io.WriteCloser
	from    *bufio.Reader
}

// An answer is whether the command was obeyed, = or ?, and the text.
type answer struct {
	done bool
	text string
}

func start(command []string) *engine {
	process := exec.Command(command[0], command[1:]...)
	process.Stderr = os.Stderr
	to, err := process.StdinPipe()
	must(err)
	from, err := process.StdoutPipe()
	must(err)
	must(process.Start())
	return &engine{process, to, bufio.NewReader(from)}
}

func must(err error) {
	if err != nil {
		log.Fatal(err) // on standard error
	}
}

// Its answer to one line: all up to an empty line.
func (e *engine) ask(words ...string) answer {
	_, err := io.WriteString(e.to, strings.Join(words, " ")+"\n")
	must(err)
	var said strings.Builder
	for !strings.HasSuffix(said.String(), "\n\n") {
		line, err := e.from.ReadString('\n')
		if err != nil {
			log.Fatal("the engine ended")
		}
		said.WriteString(line)
	}
	text := said.String()
	return answer{text[0] == '=', strings.TrimSpace(text[1:])}
}

func (e *engine) genmove(colour []string) answer {
	legal := e.ask("ggp-legal_moves")
	if !legal.done {
		return legal
	}
	if legal.text == "" {
		return answer{true, "pass"} // the game is over
	}
	move := choose(strings.Fields(legal.text))
	played := e.ask("ggp-play", strings.Join(colour, " "), move) // our own move is not sent to us
	if played.done {
		played.text = move
	}
	return played
}

func quietly(a answer) answer {
	if a.done {
		a.text = ""
	}
	return a
}

func isCommand(name string) bool {
	for _, command := range commands {
		if command == name {
			return true
		}
	}
	return false
}

func (e *engine) obey(name string, words []string) answer {
	switch name {
	case "name":
		return answer{true, "Legal bot in Go"}
	case "version":
		return answer{true, "1"}
	case "protocol_version":
		return answer{true, "2"}
	case "list_commands":
		return answer{true, strings.Join(commands, "\n")}
	case "known_command":
		return answer{true, strconv.FormatBool(len(words) > 0 && isCommand(words[0]))}
	case "genmove":
		return e.genmove(words)
	case "ggp-games":
		return e.ask(name)
	case "ggp-new":
		return quietly(e.ask(append([]string{name}, words...)...))
	case "play":
		return quietly(e.ask(append([]string{"ggp-play"}, words...)...))
	case "quit":
		return answer{true, ""}
	}
	return answer{false, "unknown command"}
}

func isID(word string) bool {
	number, err := strconv.ParseUint(word, 10, 31)
	return err == nil && number < 1<<31 && len(word) <= 10
}

// Control characters are dropped, # begins a comment; the words that are left.
func clean(line string) []string {
	kept := make([]byte, 0, len(line))
	for i := 0; i < len(line) && line[i] != '#'; i++ {
		if c := line[i]; c == '\t' || (c >= 32 && c != 127) {
			kept = append(kept, c)
		}
	}
	return strings.FieldsFunc(string(kept), func(c rune) bool { return c == ' ' || c == '\t' })
}

func write(id string, a answer) {
	mark, blank := "?", " "
	if a.done {
		mark = "="
	}
	if a.text == "" {
		blank = ""
	}
	_, err := os.Stdout.WriteString(mark + id + blank + a.text + "\n\n")
	must(err)
}

func main() {
	command := os.Args[1:]
	if len(command) == 0 {
		command = []string{"ggp", "engine"}
	}
	engine := start(command)
	input := bufio.NewReader(os.Stdin)
	for {
		line, err := input.ReadString('\n')
		if err != nil { // the end of the input, or an end within a line
			break
		}
		if len(line) > longest+1 {
			write("", answer{false, "line too long"})
			continue
		}
		id, words := "", clean(line)
		if len(words) > 1 && isID(words[0]) {
			id, words = words[0], words[1:]
		}
		if len(words) == 0 {
			continue
		}
		write(id, engine.obey(words[0], words[1:]))
		if words[0] == "quit" {
			break
		}
	}
	engine.to.Close()
	engine.process.Wait()
}
