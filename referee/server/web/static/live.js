// A page of matches under way: its boards follow them, and it takes up new ones without moving the page or its focus.
"use strict";

const shown = document.querySelector("main");
let before = shown.innerHTML;
let renewed = 0; // when the page was last taken up

// A match may be over, and its board not stored yet, when its picture is asked for: the one before stays.
shown.addEventListener("error", ({ target }) => target.style.setProperty("visibility", "hidden"), true);
shown.addEventListener("load", ({ target }) => target.style.removeProperty("visibility"), true);

async function renew() {
  renewed = performance.now();
  try {
    const answer = await fetch(location.href);
    if (!answer.ok) return;
    const whole = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = whole.querySelector("main");
    document.getElementById("made").replaceWith(whole.getElementById("made"));
    const focused = document.activeElement?.href;
    if (fresh.innerHTML === before) return;
    before = fresh.innerHTML;
    shown.replaceChildren(...fresh.childNodes);
    [...shown.querySelectorAll("a")].find((link) => link.href === focused)?.focus({ preventScroll: true });
  } catch {
    // The server is away: the next time it may be there.
  }
}

// plies: {match: how many were played}
function move(plies) {
  let changed = false;
  const boards = [...shown.querySelectorAll("[data-match]")];
  for (const board of boards) {
    const ply = plies[board.dataset.match];
    const at = board.querySelector(".at");
    if (ply === undefined) changed = true;
    else if (String(ply) !== at.textContent) {
      at.textContent = ply;
      const picture = board.querySelector("img");
      picture.src = picture.src.replace(/\d+$/, ply);
    }
  }
  const known = new Set(boards.map((board) => board.dataset.match));
  changed ||= Object.keys(plies).some((match) => !known.has(match));
  if (changed && performance.now() - renewed > 2000) renew(); // what is over stays for a moment
}

function follow() {
  const root = document.querySelector("header .brand").getAttribute("href").replace(/index\.html$/, "");
  const stream = new EventSource(`${root}live/stream`);
  stream.addEventListener("wall", (event) => document.hidden || move(JSON.parse(event.data)));
  stream.addEventListener("error", () => stream.readyState === EventSource.CLOSED && setTimeout(follow, 5000));
}

follow();
setInterval(() => document.hidden || renew(), 5000); // results and ratings, which no stream names
