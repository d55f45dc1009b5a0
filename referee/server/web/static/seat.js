// A seat: shows the position, reads moves as words over cells, and sends the chosen one. It knows no game.
"use strict";

const page = document.querySelector("main[data-base]");
const base = page.dataset.base;
const part = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";
const BUTTONS = 24; // more words, such as bids, are a list to choose from
const OFFERED = 500; // words that the text field completes

let state = null; // of the seat, as the server says
let position = null; // as the server drew it
let loading = null; // { ply, done }: the request for a board that is under way
let received = 0; // when the state came
let chosen = []; // cells of the move so far
let moves = []; // [word, cells] that begin with them
let dead = new Set(); // cells that stand for dead groups
let spots = new Map(); // cell -> its element
let current = 0; // the cell that has the focus, by number
let clicks = Promise.resolve(); // the work of the last click
let sure = false; // resigning was asked for once

const fail = (error) => (part("problem").textContent = error.message);

async function ask(path, order) {
  const options = order && {
    method: "POST",
    headers: { "content-type": "application/json", "x-csrf-token": page.dataset.csrf },
    body: JSON.stringify(order),
  };
  const answer = await fetch(`${base}/${path}`, options);
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return answer.json();
}

function send(word) {
  part("problem").textContent = "";
  return ask(word, {}).catch(fail);
}

// No second move while the first is on its way; one that is refused leaves the turn as it was.
async function play(word, ply = position.ply) {
  const before = state;
  const sent = (state = { ...state, turn: false });
  show();
  paint();
  part("problem").textContent = "";
  try {
    await ask("move", { move: word, ply });
  } catch (error) {
    if (state === sent) state = before;
    show();
    fail(error);
    await choose([]);
  }
}

// -- the state, and the clocks

function follow() {
  const stream = new EventSource(`${base}/events`);
  stream.addEventListener("state", (event) => receive(JSON.parse(event.data)));
  stream.addEventListener("error", () => {
    part("phase").textContent = "The connection is lost; connecting again …";
    if (stream.readyState === EventSource.CLOSED) setTimeout(follow, 3000);
  });
}

const begins = () => state.phase === "waiting" || state.phase === "inviting"; // there is no board yet

// A board that cannot be drawn now is asked for again, unless a newer state has come.
function receive(next) {
  take(next).catch((error) => {
    fail(error);
    setTimeout(() => state === next && receive(next), 2000);
  });
}

async function take(next) {
  const before = state;
  state = next;
  received = performance.now();
  if (before?.turn !== next.turn || before?.ply !== next.ply) reset();
  show();
  if (next.colour && next.colour !== before?.colour) sitBelow();
  if (begins()) {
    position = null;
    spots = new Map();
    part("board").replaceChildren();
    reset();
  } else if (next.game && position?.ply !== next.ply) {
    paint(); // the moves of the board before are gone at once
    await load();
  }
  paint();
}

function sitBelow() {
  for (const colour of ["black", "white"])
    part("board")[state.colour === colour ? "after" : "before"](part(`who-${colour}`).closest(".pbar"));
}

function show() {
  const won = state.result && (state.result[0] === "0" ? "a draw" : (state.result[0] === "B") === (state.colour === "black") ? "you have won" : "you have lost");
  const said = {
    inviting: "You wait for the other person.",
    waiting: `The match begins soon${state.reason ? `: ${state.reason}` : ""} …`,
    playing: state.turn ? `Your turn: you are ${state.colour}.` : "Your opponent thinks.",
    over: `The match is over${state.result ? `: ${state.result}, ${won}` : ""}${state.reason ? `: ${state.reason}` : ""}.`,
  };
  part("title").textContent = `You and ${state.opponent || "a person"}`;
  part("game").textContent = `${state.pool}: ${state.game}`;
  document.querySelector(".turn").classList.toggle("wait", !state.turn);
  part("phase").textContent = [said[state.phase], state.phase !== "over" && state.trouble && `The connection to the bot server: ${state.trouble}.`, state.lobby].filter(Boolean).join(" ");
  part("invite").hidden = !state.invite;
  part("link").value = state.invite ? new URL(`../seats?invite=${state.invite}`, location.href).href : "";
  part("resign").hidden = state.phase !== "playing";
  part("rematch").hidden = state.phase !== "over";
  document.title = state.turn ? "Your turn" : part("title").textContent;
  tick();
}

function tick() {
  for (const colour of ["black", "white"]) {
    const left = state.clock[colour];
    const mine = state.colour === colour;
    const running = state.phase === "playing" && state.turn === mine;
    const used = running ? state.age + performance.now() - received : 0;
    part(`clock-${colour}`).textContent = left === undefined ? "" : time(Math.max(0, left - used));
    part(`clock-${colour}`).classList.toggle("on", running);
    part(`who-${colour}`).textContent = state.colour ? (mine ? "(you)" : `(${state.opponent})`) : "";
  }
}

function time(ms) {
  const seconds = ms / 1000;
  return seconds < 20 ? `${seconds.toFixed(1)} s` : `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;
}

// -- the position

// Several events may name the same ply while its board is on the way. It is asked for once: a second answer would
// replace the board under a click and undo what was chosen.
function load() {
  const ply = state.ply;
  if (loading?.ply !== ply) {
    const mine = (loading = { ply, done: fetchBoard().finally(() => loading === mine && (loading = null)) });
  }
  return loading.done;
}

async function fetchBoard() {
  const before = position;
  const found = await ask("position");
  if (begins() || isOld(found)) return;
  position = found;
  const picture = position.svg && new DOMParser().parseFromString(position.svg, "image/svg+xml").documentElement;
  const focused = part("board").contains(document.activeElement);
  part("board").replaceChildren(...(picture ? [document.importNode(picture, true)] : []));
  for (const colour of ["black", "white"]) part(`held-${colour}`).textContent = position.held[colour];
  part("tokens").textContent = position.tokens;
  reset();
  addSpots(focused);
  announce(before);
}

// Whether the board that is shown is the same or a newer one.
function isOld(found) {
  if (!position) return false;
  return found.ply === position.ply ? String(found.played) === String(position.played) : found.ply < position.ply && found.ply !== state.ply;
}

// What happened, for a screen reader: the move, what was taken, and the time that is left.
function announce(before) {
  const said = [state.last];
  if (before && before.ply < position.ply) {
    const taken = {};
    for (const [at, piece] of Object.entries(before.pieces))
      if (!position.pieces[at]) taken[piece] = (taken[piece] ?? 0) + 1;
    for (const [piece, count] of Object.entries(taken)) said.push(`${count} ${piece}${count > 1 ? "s" : ""} removed`);
  }
  if (state.clock[state.colour] !== undefined) said.push(`${time(state.clock[state.colour])} left for you`);
  part("live").textContent = said.filter(Boolean).join(", ");
}

// focused: the focus was on a cell, and stays there.
function addSpots(focused) {
  spots = new Map();
  const picture = part("board").querySelector("svg");
  if (!picture) return;
  picture.setAttribute("role", "group");
  for (const [at, x, y] of position.cells) {
    const spot = document.createElementNS(SVG, "circle");
    for (const [name, value] of Object.entries({ cx: x, cy: y, r: 0.45 * position.unit, class: "spot", role: "button", tabindex: -1 }))
      spot.setAttribute(name, value);
    spot.addEventListener("click", () => click(at));
    spots.set(at, spot);
    picture.append(spot);
  }
  picture.addEventListener("keydown", onKey);
  focus(Math.min(current, spots.size - 1), focused);
}

function focus(number, now = true) {
  const all = [...spots.values()];
  if (!all[number]) return;
  all[current]?.setAttribute("tabindex", -1);
  current = number;
  all[current].setAttribute("tabindex", 0);
  if (now) all[current].focus();
}

// An arrow leads to the nearest cell in its direction.
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
function onKey(event) {
  const way = ARROWS[event.key];
  if (event.key === "Enter" || event.key === " ") click(position.cells[current][0]);
  else if (way) {
    const [, x, y] = position.cells[current];
    let best = current;
    let least = Infinity;
    position.cells.forEach(([, otherX, otherY], number) => {
      const along = (otherX - x) * way[0] + (otherY - y) * way[1];
      const aside = Math.abs((otherX - x) * way[1]) + Math.abs((otherY - y) * way[0]);
      if (along > 0.1 * position.unit && along + 3 * aside < least) [best, least] = [number, along + 3 * aside];
    });
    focus(best);
  } else return;
  event.preventDefault();
}

// -- a move

// Nothing is chosen. It happens at once: a later reset could undo a click that came meanwhile.
function reset() {
  chosen = [];
  dead = new Set();
  moves = position?.moves ?? [];
}

// The moves that begin with these cells, from the server where it has sent only some.
async function choose(cells) {
  chosen = cells;
  dead = cells.length ? dead : new Set();
  if (position) {
    const fitting = position.moves.filter(([word, named]) => word && cells.every((cell, number) => named[number] === cell));
    const query = cells.map((cell) => `cell=${encodeURIComponent(cell)}`).join("&");
    const asked = chosen;
    const found = position.whole || !cells.length ? (cells.length ? fitting : position.moves) : (await ask(`position?${query}`)).moves;
    if (chosen !== asked) return;
    moves = found;
  }
  paint();
}

const myTurn = () => state.turn && position?.ply === state.ply; // and the board is the one of this turn
const agreeing = () => position?.phase === "agree";
const exact = () => moves.filter(([word, named]) => word && named.length === chosen.length).map(([word]) => word);
const following = () => new Set(moves.filter(([, named]) => named.length > chosen.length).map(([, named]) => named[chosen.length]));

// Each click waits for what the server says of the one before.
const click = (at) => (clicks = clicks.then(() => pick(at)).catch(fail));

async function pick(at) {
  if (!myTurn()) return;
  part("problem").textContent = "";
  if (agreeing()) return tap(at);
  const words = exact();
  if (following().has(at)) await choose([...chosen, at]);
  else if (chosen.length && at === chosen.at(-1) && words.length === 1) await play(words[0]);
  else if (chosen.length) {
    await choose([]);
    if (following().has(at)) await choose([at]);
  } else part("problem").textContent = `No move begins at ${at}.`;
}

// Pieces of one colour that touch are a group; one of them stands for all.
function tap(at) {
  const group = groupOf(at);
  if (!group.size) return;
  const named = [...group].find((cell) => dead.has(cell));
  named ? dead.delete(named) : dead.add(at);
  paint();
}

function groupOf(at) {
  const colour = (cell) => position.pieces[cell]?.split(" ")[0];
  const places = new Map(position.cells.map(([name, x, y]) => [name, [x, y]]));
  const group = new Set(colour(at) ? [at] : []);
  for (const cell of group)
    for (const [other, [x, y]] of places)
      if (colour(other) === colour(at) && Math.hypot(x - places.get(cell)[0], y - places.get(cell)[1]) < 1.05 * position.unit) group.add(other);
  return group;
}

function back() {
  confirmResigning(false);
  if (agreeing()) dead.clear();
  choose(chosen.slice(0, -1)).catch(fail);
}

function paint() {
  const turn = myTurn();
  const lit = turn ? following() : new Set();
  const marked = new Set([...dead].flatMap((at) => [...groupOf(at)]));
  for (const [at, spot] of spots) {
    const piece = position.pieces[at];
    const sign = chosen.includes(at) ? "chosen" : marked.has(at) ? "dead" : lit.has(at) ? "lit" : "";
    spot.setAttribute("class", `spot ${sign}`);
    spot.setAttribute("aria-label", [at, piece ?? "empty", sign === "lit" ? "can be chosen" : sign].filter(Boolean).join(", "));
  }
  part("board").classList.toggle("begun", chosen.length > 0);
  const words = turn ? exact() : [];
  const list = agreeing() ? [] : chosen.length ? (words.length > 1 ? words : []) : words;
  part("words").replaceChildren(...(list.length <= BUTTONS ? list.map((word) => button(word)) : chooser(list)));
  const confirms = turn && (agreeing() || (chosen.length > 0 && words.length === 1));
  part("confirm").hidden = !confirms;
  part("confirm").textContent = agreeing() ? `Dead: ${[...dead].join(" ") || "none"}` : `Play ${words[0] ?? ""}`;
  part("back").hidden = !(turn && (chosen.length || dead.size));
  part("hint").textContent = turn ? hint(words, lit) : "";
  part("moves").replaceChildren(...(turn ? moves : []).filter(([word]) => word).slice(0, OFFERED).map(([word]) => new Option(word)));
  if (turn && !spots.size) part("typing").open = true;
}

function hint(words, lit) {
  if (agreeing()) return "Tap the dead groups, then confirm.";
  if (!chosen.length) return spots.size ? "Choose a cell, or a word; L shows all legal cells." : "Choose a word, or type a move.";
  if (words.length === 1) return `${words[0]}: click again or press Enter to play it${lit.size ? ", or choose the next cell" : ""}.`;
  return words.length ? "Choose one of these moves." : "Choose the next cell.";
}

function button(word) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = word;
  made.addEventListener("click", () => (focus(current), play(word))); // the button goes, the focus stays
  return made;
}

// The words in the order of their numbers, and the button that plays the chosen one.
function chooser(words) {
  const list = document.createElement("select");
  list.setAttribute("aria-label", "move");
  list.append(...[...words].sort((one, other) => one.localeCompare(other, "en", { numeric: true })).map((word) => new Option(word)));
  const before = part("words").querySelector("select")?.value;
  if (words.includes(before)) list.value = before; // painting again keeps the choice
  const send = document.createElement("button");
  send.type = "button";
  send.textContent = "Play";
  send.addEventListener("click", () => (focus(current), play(list.value)));
  return [list, send];
}

part("confirm").addEventListener("click", () => {
  const word = agreeing() ? `dead:${[...dead].join(",")}` : exact()[0];
  focus(current);
  play(word);
});
part("back").addEventListener("click", back);
part("type").addEventListener("submit", (event) => {
  event.preventDefault();
  const word = part("move").value.trim();
  if (!state?.turn) return fail(new Error("It is not your turn."));
  if (word) play(word, state.ply); // the board may still be on its way
  part("move").value = "";
});
function confirmResigning(asked) {
  sure = asked;
  part("resign").textContent = asked ? "Resign: are you sure?" : "Resign";
}
part("resign").addEventListener("click", () => {
  if (sure) send("resign");
  confirmResigning(!sure);
});
part("rematch").addEventListener("click", () => send("rematch"));
part("link").addEventListener("focus", (event) => event.target.select());
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") back();
  if (event.key === "l" && !event.target.matches("input, select")) part("board").classList.toggle("all"); // all legal cells
});

follow();
setInterval(() => state && tick(), 100);
