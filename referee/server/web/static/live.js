// A page of what is played at the moment: takes up its new state every few seconds, without moving the page or its focus.
"use strict";

const shown = document.querySelector("main");
let before = shown.innerHTML;

// A match may be over, and its board not stored yet, when its picture is asked for.
shown.addEventListener("error", ({ target }) => target.style.setProperty("visibility", "hidden"), true);

async function renew() {
  if (!document.hidden) {
    try {
      const answer = await fetch(location.href);
      if (answer.ok) {
        const whole = new DOMParser().parseFromString(await answer.text(), "text/html");
        const fresh = whole.querySelector("main");
        document.getElementById("made").replaceWith(whole.getElementById("made"));
        const focused = document.activeElement?.href;
        if (fresh.innerHTML !== before) {
          before = fresh.innerHTML;
          shown.replaceChildren(...fresh.childNodes);
          [...shown.querySelectorAll("a")].find((link) => link.href === focused)?.focus({ preventScroll: true });
        }
      }
    } catch {
      // The server is away: the next time it may be there.
    }
  }
  setTimeout(renew, 5000);
}

setTimeout(renew, 5000);
