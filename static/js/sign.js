/* The saved sign: one for the page, whoever saves. It says the worst that anybody has to say. */
"use strict";

(() => {
  const TEXTS = {
    idle: "", unsaved: "Not saved yet", saving: "Saving", conflict: "Not saved: two versions",
    error: "Not saved. Trying again", refused: "Not saved. See the message",
    lost: "Not saved. Reload the page; your text is kept",
    away: "Signed out. Sign in again; your text is kept", kept: "Draft kept",
  };
  const WORST = ["refused", "lost", "away", "conflict", "error", "saving", "unsaved"];
  const LOOKS = { refused: "error", lost: "error", away: "error", kept: "saved" };

  const said = new Map();

  /* Pages whose fields are kept, but which have no sign of their own, get one. */
  function signs() {
    const found = document.querySelectorAll("[data-saved]");
    const place = document.querySelector(".top .status");
    if (found.length || !place) return found;
    const made = document.createElement("output");
    made.className = "saved";
    made.dataset.saved = "";
    place.append(made);
    return [made];
  }

  function set(owner, status) {
    said.set(owner, status);
    const all = [...said.values()];
    const shown = WORST.find((each) => all.includes(each)) ?? status;
    for (const sign of signs()) {
      sign.dataset.state = LOOKS[shown] ?? shown;
      /* The words "Saved 14:03" come from the server; the others are ours. */
      if (shown !== "saved") sign.textContent = TEXTS[shown];
      else if (!sign.textContent.startsWith("Saved")) sign.textContent = "Saved";
    }
  }

  const drop = (owner) => said.delete(owner);

  window.assay.sign = { set, drop };
})();
