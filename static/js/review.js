/* The second review. A ring lies around one item of [data-look] that is in view; the keys act on it
   and on nothing else. What was in view from its beginning to its end is remembered in this tab:
   Keep waits for it, and Accept until nothing that is needed is left. That is a courtesy to the
   reader: the server asks for a word on every item, but cannot know what was looked at. */
"use strict";

(() => {
  const KEY = `assay:looked:${location.pathname}`;
  const ENOUGH = 120; // pixels of an item that count as having it in view
  const EDGE = 16; // pixels under an item's last line that need not be seen
  const items = () => [...document.querySelectorAll("[data-look]")];
  const ring = () => document.querySelector("[data-look].open");

  const looked = new Set((() => {
    try { return JSON.parse(sessionStorage.getItem(KEY)) ?? []; } catch { return []; }
  })());
  /* With its state: what the author answered since is to be looked at again. */
  const part = (item, which) => `${item.id} ${item.dataset.look} ${which}`;
  const isLooked = (item) => looked.has(part(item, "begin")) && looked.has(part(item, "end"));

  /* What the deck does not cover. */
  function bottom() {
    const deck = document.querySelector(".deck");
    return getComputedStyle(deck).position === "sticky" ? deck.getBoundingClientRect().top : innerHeight;
  }

  function visible(item) {
    const { top, bottom: end } = item.getBoundingClientRect();
    return Math.min(end, bottom()) - Math.max(top, 0);
  }

  const isThere = (item) => visible(item) >= Math.min(ENOUGH, item.offsetHeight);
  const topOf = (element) => element.getBoundingClientRect().top;
  /* An aspect that sticks to the top stays in view whatever of its passages is read. */
  const isStuck = (item) => item.matches(".pair > *") && topOf(item) > topOf(item.parentElement) + 1;

  function remember() {
    const before = looked.size;
    for (const item of items()) {
      const { top, bottom: end } = item.getBoundingClientRect();
      if (top >= 0 && top < bottom()) looked.add(part(item, "begin"));
      if (end > 0 && end <= bottom() + EDGE) looked.add(part(item, "end"));
    }
    if (looked.size === before) return;
    try { sessionStorage.setItem(KEY, JSON.stringify([...looked])); } catch { /* this page remembers */ }
  }

  function show() {
    const now = ring();
    for (const item of items()) {
      for (const button of item.querySelectorAll("[data-needs-look]")) button.disabled = !isLooked(item);
    }
    const name = document.querySelector("[data-look-now]");
    if (name) name.textContent = now?.dataset.lookName ?? "";
    const hint = document.querySelector("[data-look-hint]");
    /* Its place is kept: a deck that grew would cover the end of what was just gone to. */
    if (hint) hint.classList.toggle("unseen", !now || isLooked(now));
    for (const mark of document.querySelectorAll("[data-look-go]")) {
      if (now && mark.hash === `#${now.id}`) mark.setAttribute("aria-current", "true");
      else mark.removeAttribute("aria-current");
    }
    const accept = document.querySelector("[data-accept]");
    if (!accept) return;
    accept.dataset.refused ??= String(accept.disabled); // by the server: something is open
    const left = items().filter((item) => item.hasAttribute("data-look-needed") && !(item.dataset.look && isLooked(item)));
    accept.disabled = accept.dataset.refused === "true" || left.length > 0;
    accept.querySelector("[data-left]").textContent = left.length ? `(${left.length} left)` : "";
  }

  function move(item) {
    if (!item || item === ring()) return;
    ring()?.removeAttribute("aria-current");
    ring()?.classList.remove("open");
    item.classList.add("open");
    item.setAttribute("aria-current", "true");
  }

  function go(item) {
    if (!item) return;
    move(item);
    item.focus({ preventScroll: true });
    const isTall = item.offsetHeight > bottom();
    if (isStuck(item)) item.parentElement.scrollIntoView({ block: "start" });
    else item.scrollIntoView({ block: isTall ? "start" : "nearest" });
    const hidden = item.getBoundingClientRect().bottom - bottom(); // a deck of two lines hides more
    if (!isTall && hidden > 0) scrollBy(0, hidden + EDGE);
    look();
  }

  function look() {
    remember();
    const now = ring();
    const isMine = now && isThere(now) && (!isStuck(now) || now.contains(document.activeElement));
    const isTurn = document.querySelector("[data-look-step]");
    if (isTurn && !isMine) move(items().find((item) => isThere(item) && !isStuck(item)));
    show();
  }

  document.addEventListener("click", (event) => {
    const step = event.target.closest?.("[data-look-step]");
    const mark = event.target.closest?.("[data-look-go]");
    if (step) {
      const all = items();
      go(all[Math.max(0, Math.min(all.length - 1, all.indexOf(ring()) + Number(step.dataset.lookStep)))]);
    } else if (mark) {
      event.preventDefault();
      go(document.querySelector(mark.hash));
    }
  });

  document.addEventListener("focusin", (event) => {
    const item = event.target.closest?.("[data-look]");
    if (item) { move(item); show(); }
  });

  /* Before any key acts: what the ring lies around may have been scrolled away just now. */
  document.addEventListener("keydown", look, { capture: true });

  let asked = false;
  for (const name of ["scroll", "resize"]) {
    addEventListener(name, () => {
      if (asked) return;
      asked = true;
      requestAnimationFrame(() => { asked = false; look(); });
    }, { passive: true });
  }

  /* Before it settles already: a key that comes at once must find the buttons as they are to be. */
  document.addEventListener("htmx:afterSwap", show);
  document.addEventListener("htmx:afterSettle", (event) => {
    if (event.detail.elt.id !== "review-panel") show();
    else if (ring()) go(ring());
    else look();
  });
  if (ring()) go(ring());
  else look();
})();
