// Takes a seat: sends the form as an order, and goes to the seat's page.
"use strict";

const page = document.querySelector("main[data-csrf]");

for (const form of document.querySelectorAll("form.take"))
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const problem = document.getElementById("problem");
    problem.textContent = "";
    form.querySelector("button").disabled = true;
    try {
      const answer = await fetch("seats", {
        method: "POST",
        headers: { "content-type": "application/json", "x-csrf-token": page.dataset.csrf },
        body: JSON.stringify(Object.fromEntries(new FormData(form))),
      });
      if (!answer.ok) throw new Error((await answer.text()).trim());
      location.assign(`seats/${(await answer.json()).seat}`);
    } catch (error) {
      problem.textContent = error.message;
      form.querySelector("button").disabled = false;
    }
  });
