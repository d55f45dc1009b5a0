// The wall of live matches: takes up the page's new state every few seconds, without moving the page or its focus.
"use strict";

const wall = document.querySelector("main");

async function renew() {
  if (!document.hidden) {
    try {
      const answer = await fetch(location.href);
      if (answer.ok) {
        const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("main");
        const focused = document.activeElement?.href;
        if (fresh.innerHTML !== wall.innerHTML) {
          wall.replaceChildren(...fresh.childNodes);
          for (const link of wall.querySelectorAll("a")) if (link.href === focused) link.focus();
        }
      }
    } catch {
      // The server is away: the next time it may be there.
    }
  }
  setTimeout(renew, 5000);
}

setTimeout(renew, 5000);
