#!/usr/bin/env node
// A whole bot in one JavaScript file: it plays any legal move, in every game that an engine knows. It needs no package.
//
//     run      node bots/examples/legal_bot.js ggp engine
//     match    ggp match yugo "node bots/examples/legal_bot.js" random
//
// It starts the engine of the command line (without one: ggp engine) and keeps no board of its own: it
// passes on what it receives, and draws one of the moves that the engine lists. Replace `choose` by something better.
"use strict";
const { spawn } = require("node:child_process");

const LONGEST = 65536; // bytes of a line, without its end

// One of the legal moves: points, but also pass, swap-sides, bid:7 or dead: where the game asks for that.
function choose(moves) {
  return moves[Math.floor(Math.random() * moves.length)];
}

// The lines of a stream, without their ends; what the end of the stream cuts is none. Bytes are characters.
async function* lines(stream) {
  let rest = "";
  stream.setEncoding("latin1");
  for await (const chunk of stream) {
    const whole = (rest + chunk).split("\n");
    rest = whole.pop().slice(0, 1 << 21); // no answer, and no line that counts, is longer
    yield* whole;
  }
}

// The process that knows the rules; it ends when its input does, so it never outlives the bot.
class Engine {
  constructor([program, ...words]) {
    this.process = spawn(program, words, { stdio: ["pipe", "pipe", "inherit"] });
    this.process.on("error", (error) => fail(error.message));
    this.process.stdin.on("error", () => {}); // an engine that is gone is noticed when we read
    this.said = lines(this.process.stdout);
  }

  // Its answer to the words: all up to an empty line. done: whether it could obey.
  async ask(...words) {
    this.process.stdin.write(words.join(" ") + "\n", "latin1");
    const answer = [];
    for (;;) {
      const { value, done } = await this.said.next();
      if (done) fail("the engine ended");
      if (value === "") break;
      answer.push(value);
    }
    const text = answer.join("\n");
    return { done: text[0] === "=", text: text.slice(1).trim() };
  }

  close() {
    this.process.stdin.end();
  }
}

function fail(why) {
  process.stderr.write(`${why}\n`);
  process.exit(1);
}

async function genmove(engine, words) {
  const legal = await engine.ask("ggp-legal_moves");
  if (!legal.done) return legal;
  if (legal.text === "") return yes("pass"); // the game is over
  const move = choose(legal.text.split(" "));
  const played = await engine.ask("ggp-play", ...words, move); // our own move is not sent to us
  return played.done ? yes(move) : played;
}

const yes = (text) => ({ done: true, text });
const quietly = (answer) => (answer.done ? yes("") : answer);

// What each command answers.
const commands = new Map(Object.entries({
  "genmove": genmove,
  "ggp-games": (engine) => engine.ask("ggp-games"),
  "ggp-new": async (engine, words) => quietly(await engine.ask("ggp-new", ...words)),
  "known_command": (engine, [name]) => yes(String(commands.has(name))),
  "list_commands": () => yes([...commands.keys()].join("\n")),
  "name": () => yes("Legal bot in JavaScript"),
  "play": async (engine, words) => quietly(await engine.ask("ggp-play", ...words)),
  "protocol_version": () => yes("2"),
  "quit": () => yes(""),
  "version": () => yes("1"),
}));

const isId = (word) => /^[0-9]{1,10}$/.test(word) && Number(word) < 2 ** 31;

function write(id, { done, text }) {
  process.stdout.write(`${done ? "=" : "?"}${id}${text && " "}${text}\n\n`, "latin1");
}

async function main() {
  const engine = new Engine(process.argv.length > 2 ? process.argv.slice(2) : ["ggp", "engine"]);
  process.stdout.on("error", () => process.exit()); // the reader is gone
  for await (const line of lines(process.stdin)) {
    if (line.length > LONGEST) {
      write("", { done: false, text: "line too long" });
      continue;
    }
    const words = line.replace(/[\x00-\x08\x0a-\x1f\x7f]|#[^]*/g, "").split(/[ \t]/).filter(Boolean);
    const id = words.length > 1 && isId(words[0]) ? words.shift() : "";
    if (!words.length) continue;
    const [name, ...rest] = words;
    const command = commands.get(name);
    write(id, command ? await command(engine, rest) : { done: false, text: "unknown command" });
    if (name === "quit") break;
  }
  engine.close();
}

main();
