//! A whole bot in one Rust file: it plays any legal move, in every game that an engine knows. It needs no crate.
//!
//!     build    rustc -O -o legal_bot bots/examples/legal_bot.rs
//!     run      ./legal_bot ggp engine
//!     match    ggp match yugo ./legal_bot random
//!
//! It starts the engine of the command line (without one: ggp engine) and keeps no board of its own: it
//! passes on what it receives, and draws one of the moves that the engine lists. Replace `choose` by something better.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

const COMMANDS: [&str; 10] = [
    "genmove", "ggp-games", "ggp-new", "known_command", "list_commands", "name", "play", "protocol_version", "quit",
    "version",
];
const LONGEST: usize = 65536; // bytes of a line, without its end

/// The text of a success, or of a failure.
type Answer = Result<String, String>;

/// One of the legal moves: points, but also pass, swap-sides, bid:7 or dead: where the game asks for that.
fn choose<'a>(moves: &[&'a str]) -> &'a str {
    let random = RandomState::new().build_hasher().finish(); // the standard library's only source of chance
    moves[random as usize % moves.len()]
}

/// The process that knows the rules; it ends when its input does, so it never outlives the bot.
struct Engine {
    process: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Engine {
    fn start(command: &[String]) -> io::Result<Engine> {
        let mut process =
            Command::new(&command[0]).args(&command[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let to = process.stdin.take().expect("a pipe was asked for");
        let from = BufReader::new(process.stdout.take().expect("a pipe was asked for"));
        Ok(Engine { process, to, from })
    }

    /// Its answer to one line: all up to an empty line. An error is that of its pipes.
    fn ask(&mut self, line: &str) -> io::Result<Answer> {
        self.to.write_all(format!("{line}\n").as_bytes())?;
        let mut said = Vec::new();
        while !said.ends_with(b"\n\n") {
            if self.from.read_until(b'\n', &mut said)? == 0 {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the engine ended"));
            }
        }
        let text = String::from_utf8_lossy(&said[1..]).trim().to_string();
        Ok(if said[0] == b'=' { Ok(text) } else { Err(text) })
    }

    fn genmove(&mut self, colour: &str) -> io::Result<Answer> {
        let legal = match self.ask("ggp-legal_moves")? {
            Ok(legal) => legal,
            refused => return Ok(refused),
        };
        let moves: Vec<&str> = legal.split_whitespace().collect();
        if moves.is_empty() {
            return Ok(Ok("pass".to_string())); // the game is over
        }
        let chosen = choose(&moves);
        let played = self.ask(&format!("ggp-play {colour} {chosen}"))?; // our own move is not sent to us
        Ok(played.map(|_| chosen.to_string()))
    }

    fn close(mut self) -> io::Result<()> {
        drop(self.to);
        self.process.wait().map(|_| ())
    }
}

fn obey(engine: &mut Engine, name: &str, words: &[&str]) -> io::Result<Answer> {
    let arguments = words.join(" ");
    let quietly = |answer: Answer| answer.map(|_| String::new());
    Ok(match name {
        "name" => Ok("Legal bot in Rust".to_string()),
        "version" => Ok("1".to_string()),
        "protocol_version" => Ok("2".to_string()),
        "list_commands" => Ok(COMMANDS.join("\n")),
        "known_command" => Ok(words.first().map_or(false, |word| COMMANDS.contains(word)).to_string()),
        "genmove" => engine.genmove(&arguments)?,
        "ggp-games" => engine.ask("ggp-games")?,
        "ggp-new" => quietly(engine.ask(&format!("ggp-new {arguments}"))?),
        "play" => quietly(engine.ask(&format!("ggp-play {arguments}"))?),
        "quit" => Ok(String::new()),
        _ => Err("unknown command".to_string()),
    })
}

fn is_id(word: &str) -> bool {
    word.len() <= 10 && word.bytes().all(|byte| byte.is_ascii_digit()) && word.parse::<u64>().unwrap_or(1 << 31) < 1 << 31
}

/// Control characters are dropped, `#` begins a comment; bytes that are not UTF-8 are shown as such.
fn clean(line: &[u8]) -> String {
    let kept = |byte: &u8| *byte == b'\t' || (*byte >= 32 && *byte != 127);
    let bytes: Vec<u8> = line.iter().copied().filter(kept).take_while(|byte| *byte != b'#').collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn write_answer(id: &str, answer: &Answer) -> io::Result<()> {
    let (mark, text) = match answer {
        Ok(text) => ('=', text),
        Err(text) => ('?', text),
    };
    let blank = if text.is_empty() { "" } else { " " };
    let mut out = io::stdout().lock();
    out.write_all(format!("{mark}{id}{blank}{text}\n\n").as_bytes())?;
    out.flush()
}

/// Answer until `quit` or the end of the input.
fn converse(engine: &mut Engine) -> io::Result<()> {
    let mut input = io::stdin().lock();
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line)? > 0 && line.pop() == Some(b'\n') {
        if line.len() > LONGEST {
            write_answer("", &Err("line too long".to_string()))?;
        } else {
            let text = clean(&line);
            let all: Vec<&str> = text.split([' ', '\t']).filter(|word| !word.is_empty()).collect();
            let (id, words) = if all.len() > 1 && is_id(all[0]) { (all[0], &all[1..]) } else { ("", &all[..]) };
            if let Some((name, arguments)) = words.split_first() {
                write_answer(id, &obey(engine, name, arguments)?)?;
                if *name == "quit" {
                    break;
                }
            }
        }
        line.clear();
    }
    Ok(())
}

fn main() -> io::Result<()> {
    let mut command: Vec<String> = std::env::args().skip(1).collect();
    if command.is_empty() {
        command = vec!["ggp".to_string(), "engine".to_string()];
    }
    let mut engine = Engine::start(&command)?;
    converse(&mut engine)?;
    engine.close()
}
