// The page of a match: steps through the positions without loading the page again, and follows a match that is played.
"use strict";

const page = document.querySelector("main[data-base]");
const { base, place } = page.dataset;
const times = JSON.parse(page.dataset.times); // ms of each ply
const part = (id) => document.getElementById(id);
const clocks = [1, 2].map((seat) => part(`clock${seat}`));
const [board, slider, list, status, rates] = ["board", "slider", "plies", "status", "rates"].map(part);
const kept = part("positions") && JSON.parse(part("positions").textContent); // of a page that needs no server
const views = new Map(); // what was loaded, by ply
const quiet = matchMedia("(prefers-reduced-motion: reduce)").matches;

let last = Number(slider.max);
let shown = Number(slider.value);
let wanted = shown;
let loading = false;
let timer = 0; // of the playback

async function load(ply) {
  if (kept) {
    const view = kept.views[ply];
    return { ...view, svg: view.svg.map((line) => kept.lines[line]).join("\n") };
  }
  if (!views.has(ply)) {
    const answer = await fetch(`${base}/ply/${ply}`);
    if (!answer.ok) throw new Error((await answer.text()).trim());
    if (views.size > 1000) views.delete(views.keys().next().value);
    const view = await answer.json();
    if (view.problem) return view; // the engine may be there the next time
    views.set(ply, view);
  }
  return views.get(ply);
}

async function show(ply) {
  wanted = Math.max(0, Math.min(last, ply));
  if (loading) return; // the loop below goes on to what is wanted then
  loading = true;
  while (shown !== wanted) {
    const next = wanted;
    try {
      paint(await load(next));
    } catch (error) {
      part("problem").textContent = error.message;
    }
    shown = next;
  }
  loading = false;
}

function make(name, text, attributes = {}) {
  const made = document.createElement(name);
  made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

function row(head, ...cells) {
  const made = document.createElement("tr");
  made.append(make("th", head, { scope: "row" }), ...cells);
  return made;
}

function paint(view) {
  const picture = view.svg && new DOMParser().parseFromString(view.svg, "image/svg+xml").documentElement;
  board.replaceChildren(...(picture ? [document.importNode(picture, true)] : [])); // never another position's picture
  part("caption").textContent = view.caption;
  part("problem").textContent = view.problem;
  part("legal").textContent = view.legal.join(" ");
  part("score").replaceChildren(...view.score.map(([name, ...two]) => row(name, ...two.map((one) => make("td", one, { class: "r" })))));
  part("analysis").replaceChildren(...view.analysis.map(([name, one]) => row(name, make("td", one, { class: "words" }))));
  view.left.forEach((left, index) => (clocks[index].textContent = left));
  view.colours.forEach((colour, index) => {
    part(`stone${index + 1}`).className = `stone ${colour[0]}`;
    part(`stone${index + 1}`).setAttribute("aria-label", colour);
    part(`beside${index + 1}`).textContent = view.held[colour];
  });
  part("tokens").textContent = view.tokens;
  part("legend").replaceChildren(...view.legend.map(([sign, meaning]) => {
    const item = document.createElement("li");
    item.append(make("b", meaning), " ", make("small", sign));
    return item;
  }));
  slider.value = view.ply;
  slider.setAttribute("aria-valuetext", view.caption);
  list.querySelector("[aria-current]")?.removeAttribute("aria-current");
  const entry = part(`ply-${view.ply}`);
  if (entry) {
    entry.setAttribute("aria-current", "true");
    entry.querySelector("b").textContent = view.words;
    reveal(entry);
  }
  mark(view.ply);
  part("back").href = link(Math.max(0, view.ply - 1));
  part("forward").href = link(Math.min(last, view.ply + 1));
  part("place").textContent = quoted(`${place}@${view.ply}`);
  if (part("link-here")) part("link-here").href = link(view.ply);
  if (part("picture-here")) part("picture-here").href = `${base}/picture/${view.ply}`;
  const ask = part("ask");
  if (ask) ask.elements.ply.value = view.ply;
  if (part("why")) part("why").textContent = "";
  history.replaceState(null, "", link(view.ply));
}

const reveal = (entry) => (list.scrollTop = entry.offsetTop - list.clientHeight / 2); // the page stays where it is
const link = (ply) => (kept ? `#${ply}` : `${base}?ply=${ply}`);
const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`); // for a shell

function mark(ply) {
  if (!rates) return;
  const { left, right } = rates.dataset;
  const x = Number(left) + (ply * (right - left)) / rates.dataset.last;
  for (const end of ["x1", "x2"]) part("now").setAttribute(end, x);
}

function stop() {
  clearTimeout(timer);
  timer = 0;
  part("play").setAttribute("aria-label", "play");
}

function play() {
  if (timer) return stop();
  if (wanted >= last) show(0);
  part("play").setAttribute("aria-label", "pause");
  const next = () => {
    if (wanted >= last) return stop();
    show(wanted + 1);
    timer = setTimeout(next, Math.min(5000, Math.max(200, times[wanted] ?? 0))); // as long as the next ply took
  };
  timer = setTimeout(next, 300);
}

const steps = {
  first: () => show(0),
  back: () => show(wanted - 1),
  forward: () => show(wanted + 1),
  last: () => show(last),
};
const keys = { Home: "first", ArrowLeft: "back", ArrowRight: "forward", End: "last" };

for (const [id, act] of Object.entries(steps))
  part(id).addEventListener("click", (event) => {
    event.preventDefault();
    stop();
    act();
  });
part("play").addEventListener("click", play);
part("play").disabled = false;
slider.disabled = false;
slider.addEventListener("input", () => (stop(), show(Number(slider.value))));
list.addEventListener("click", (event) => {
  const entry = event.target.closest("[id^=ply-]");
  if (!entry) return;
  event.preventDefault();
  stop();
  show(Number(entry.id.slice(4)));
});
rates?.addEventListener("click", (event) => {
  const { left, right } = rates.dataset;
  const box = rates.getBoundingClientRect();
  const x = ((event.clientX - box.left) * rates.viewBox.baseVal.width) / box.width;
  stop();
  show(Math.round(((x - left) * rates.dataset.last) / (right - left)));
});
document.addEventListener("keydown", (event) => {
  const other = event.altKey || event.ctrlKey || event.metaKey || event.target.matches("input, textarea, select");
  if (event.key === " " && event.target === document.body) return event.preventDefault(), play();
  if ((other && event.target !== slider) || !keys[event.key]) return;
  event.preventDefault();
  stop();
  steps[keys[event.key]]();
});
const linked = () => /^#\d+$/.test(location.hash) && show(Number(location.hash.slice(1)));
addEventListener("hashchange", linked);
linked();
if (part(`ply-${shown}`)) reveal(part(`ply-${shown}`));

// -- why a move is not legal, and the forms of the record

async function why(move) {
  const answer = await fetch(`${base}/why/${shown}?${new URLSearchParams({ move })}`);
  part("why").textContent = answer.ok ? (await answer.json()).why : (await answer.text()).trim();
}

if (!kept) {
  part("ask").addEventListener("submit", (event) => {
    event.preventDefault();
    why(part("ask").elements.move.value);
  });
  board.addEventListener("click", (event) => {
    const { at } = event.target.closest("[data-at]")?.dataset ?? {};
    if (!at) return;
    part("ask").elements.move.value = at;
    why(at);
  });
  for (const form of document.querySelectorAll(".taken a[data-name]")) {
    const text = `Copy ${form.dataset.name}`;
    const copy = make("button", text, { type: "button" });
    copy.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(await (await fetch(form.href)).text());
        copy.textContent = "Copied";
      } catch {
        copy.textContent = "The browser does not allow it";
      }
      setTimeout(() => (copy.textContent = text), 2000);
    });
    part("copies").append(copy, " ");
  }
}

// -- a match that is being played

const clock = { seat: 0, left: [null, null, null], since: 0 }; // ms left of seats 1 and 2 when `seat` began to think

function follow() {
  const stream = new EventSource(`${base}/stream?after=${last}`);
  stream.addEventListener("open", () => (status.textContent = "Live."));
  stream.addEventListener("away", (event) => (status.textContent = JSON.parse(event.data) || "Live."));
  stream.addEventListener("again", () => location.reload()); // it was taken up from an earlier ply
  stream.addEventListener("error", () => {
    status.textContent = "The connection is lost; connecting again …";
    if (stream.readyState === EventSource.CLOSED) setTimeout(follow, 5000); // it was refused: a browser gives up then
  });
  stream.addEventListener("ply", (event) => {
    const ply = JSON.parse(event.data);
    if (ply.ply !== last + 1) return; // it is on the page already
    const following = wanted === last;
    last = ply.ply;
    slider.max = last;
    times.push(ply.ms);
    list.append(entry(ply));
    clock.left[ply.seat] = ply.left ?? null;
    clock.seat = 3 - ply.seat;
    clock.since = performance.now();
    if (following) show(last);
  });
  stream.addEventListener("end", () => {
    stream.close();
    location.assign(`${base}?ply=${last}`); // the page of a match that is over says more
  });
}

function tick() {
  if (shown !== last) return; // the clocks are those of an earlier position
  for (const seat of [1, 2]) {
    if (clock.left[seat] === null) continue;
    const used = clock.seat === seat ? performance.now() - clock.since : 0;
    clocks[seat - 1].textContent = `${Math.max(0, (clock.left[seat] - used) / 1000).toFixed(1)} s`;
    clocks[seat - 1].classList.toggle("on", clock.seat === seat);
  }
}

function entry(ply) {
  const item = make("li", "", { id: `ply-${ply.ply}`, class: ply.colour });
  const anchor = make("a", "", { href: link(ply.ply), title: ply.move });
  const stone = make("span", "", { class: `stone ${ply.colour[0]}`, role: "img", "aria-label": ply.colour });
  anchor.append(make("span", ply.ply, { class: "n" }), stone, make("b", ply.move));
  anchor.append(make("small", ply.ms < 100 ? "" : `${(ply.ms / 1000).toFixed(2)} s`));
  item.append(anchor);
  part("moves").textContent = ply.ply;
  return item;
}

if (page.dataset.live) {
  clocks.forEach(({ dataset }, index) => (clock.left[index + 1] = dataset.left ? Number(dataset.left) : null));
  clock.seat = Number(page.dataset.seat);
  clock.since = performance.now() - Number(page.dataset.live);
  follow();
  setInterval(tick, quiet ? 1000 : 100);
}
