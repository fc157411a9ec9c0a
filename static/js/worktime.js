/* Two small helps of the workspace.
   Time on task: while the page is seen and was touched within the last minute, it reports the
   stretch since its last report. What could not be told is told with the next one.
   Lists: in [data-list], the arrow keys go from one [data-item] to the next. */
"use strict";

(() => {
  const EVERY = 15_000, IDLE = 60_000, LONGEST = 85_000;
  const beacon = document.querySelector("[data-active-time]");

  /* The server's clock counts: how far it is ahead of ours, by the date of any answer. Not written
     into the page, which says the same at every look. */
  async function howFarAhead() {
    try {
      const answer = await fetch(document.querySelector("link[rel=icon]").href, { method: "HEAD", cache: "no-store" });
      const said = Date.parse(answer.headers.get("Date"));
      return Math.abs(said - Date.now()) > 2000 ? said - Date.now() : 0; // NaN is 0, too
    } catch { return 0; }
  }

  async function watch() {
    const ahead = await howFarAhead();
    const now = () => Date.now() + ahead;
    let touched = now(), from = document.hidden ? null : now(), waiting = [];

    function end() { return Math.min(now(), touched + IDLE); }

    function cut() {
      if (from === null) return;
      for (let at = from; at < end(); at += LONGEST) waiting.push([at, Math.min(end(), at + LONGEST)]);
      from = now() > touched + IDLE ? null : now();
    }

    async function tell() {
      cut();
      const sent = waiting.splice(0, 10);
      for (const [start, stop] of sent) {
        if (stop - start < 1000) continue;
        const body = new URLSearchParams({ start: Math.round(start), end: Math.round(stop) });
        const headers = JSON.parse(document.body.getAttribute("hx-headers") ?? "{}");
        try {
          const answer = await fetch(beacon.dataset.activeTime, { method: "POST", body, headers, keepalive: true, redirect: "manual" });
          if (answer.type === "opaqueredirect" || answer.status >= 500) waiting.push([start, stop]);
        } catch { waiting.push([start, stop]); }
      }
      waiting = waiting.slice(-20);
    }

    function touch() {
      if (document.hidden) return;
      if (now() > touched + IDLE) { cut(); from = now(); } // what lies between was idle
      touched = now();
      from ??= touched;
    }

    for (const name of ["keydown", "pointerdown", "pointermove", "wheel", "scroll", "focusin"]) {
      document.addEventListener(name, touch, { passive: true, capture: true });
    }
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) { tell(); from = null; } else touch();
    });
    addEventListener("pagehide", tell);
    setInterval(() => { if (!document.hidden) tell(); }, EVERY);
  }

  if (beacon) watch();

  document.addEventListener("keydown", (event) => {
    if (!["ArrowDown", "ArrowUp"].includes(event.key)) return;
    const list = event.target.closest?.("[data-list]");
    if (!list || !event.target.matches("[data-item]")) return;
    const items = [...list.querySelectorAll("[data-item]")];
    const next = items[items.indexOf(event.target) + (event.key === "ArrowDown" ? 1 : -1)];
    if (next) { event.preventDefault(); next.focus(); }
  });
})();
