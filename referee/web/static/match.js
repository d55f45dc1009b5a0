// The page of a match: steps through the positions without loading the page again, and follows a match that is played.
"use strict";

const page = document.querySelector("main[data-base]");
const base = page.dataset.base;
const times = JSON.parse(page.dataset.times); // ms of each ply
const part = (id) => document.getElementById(id);
const [board, slider, list, status] = ["board", "slider", "plies", "status"].map(part);
const views = new Map(); // what was loaded, by ply

let last = Number(slider.max);
let shown = Number(slider.value);
let wanted = shown;
let loading = false;
let timer = 0; // of the playback

async function load(ply) {
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

function paint(view) {
  const picture = view.svg && new DOMParser().parseFromString(view.svg, "image/svg+xml").documentElement;
  board.replaceChildren(...(picture ? [document.importNode(picture, true)] : [])); // never another position's picture
  part("caption").textContent = view.caption;
  part("problem").textContent = view.problem;
  part("legal").textContent = view.legal.join(" ");
  slider.value = view.ply;
  slider.setAttribute("aria-valuetext", view.caption);
  list.querySelector("[aria-current]")?.removeAttribute("aria-current");
  const row = part(`ply-${view.ply}`);
  row?.setAttribute("aria-current", "true");
  row?.scrollIntoView({ block: "nearest" });
  part("back").href = `${base}?ply=${Math.max(0, view.ply - 1)}`;
  part("forward").href = `${base}?ply=${Math.min(last, view.ply + 1)}`;
  history.replaceState(null, "", `${base}?ply=${view.ply}`);
}

function stop() {
  clearTimeout(timer);
  timer = 0;
  part("play").textContent = "Play";
}

function play() {
  if (timer) return stop();
  if (wanted >= last) show(0);
  part("play").textContent = "Pause";
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
part("play").hidden = false;
slider.disabled = false;
slider.addEventListener("input", () => (stop(), show(Number(slider.value))));
list.addEventListener("click", (event) => {
  const row = event.target.closest("[id^=ply-]");
  if (!row) return;
  event.preventDefault();
  stop();
  show(Number(row.id.slice(4)));
});
document.addEventListener("keydown", (event) => {
  const other = event.altKey || event.ctrlKey || event.metaKey || event.target.matches("input, textarea, select");
  if (other || !keys[event.key]) return;
  event.preventDefault();
  stop();
  steps[keys[event.key]]();
});

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
  for (const seat of [1, 2]) {
    if (clock.left[seat] === null) continue;
    const used = clock.seat === seat ? performance.now() - clock.since : 0;
    part(`clock${seat}`).textContent = `${Math.max(0, (clock.left[seat] - used) / 1000).toFixed(1)} s`;
  }
}

function entry(ply) {
  const item = document.createElement("li");
  item.id = `ply-${ply.ply}`;
  const link = document.createElement("a");
  link.href = `${base}?ply=${ply.ply}`;
  link.textContent = `${ply.ply} ${ply.colour} ${ply.move}`;
  const time = document.createElement("small");
  time.textContent = ` ${(ply.ms / 1000).toFixed(2)} s`;
  item.append(link, time);
  return item;
}

if (page.dataset.live) {
  follow();
  setInterval(tick, 100);
}
