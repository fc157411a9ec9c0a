/* Put into a work screen by test_keys.py: what keys do there, and what they have changed. */
"use strict";

window.tools = (() => {
  const isSeen = (each) => each.checkVisibility() && !each.disabled;
  const label = (each) => {
    const named = each.dataset.keyLabel || each.getAttribute("aria-label");
    if (named) return named;
    const copy = (each.labels?.[0] ?? each).cloneNode(true);
    copy.querySelectorAll("kbd").forEach((kbd) => kbd.remove());
    return copy.textContent.trim().replace(/\s+/g, " ");
  };
  const keyed = () => [...document.querySelectorAll("[data-key]")].filter(isSeen);
  const FOCUSABLE = "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex]";
  const focusable = () => [...document.querySelectorAll(FOCUSABLE)].filter(isSeen);
  const isTyping = (each) => each.matches("textarea, select, input:not([type=radio], [type=checkbox], [type=file])");
  const name = (each) => `${each.tagName.toLowerCase()} “${label(each).slice(0, 60)}”`;
  const group = (radio) => [...radio.form.elements].filter((each) => each.type === "radio" && each.name === radio.name);
  const mayAct = (each, from) => { // a key of one card acts while the focus is in it
    const scope = each.closest("[data-key-scope]");
    if (!scope || scope.contains(from)) return true;
    return scope.dataset.keyScope !== "focus" && scope.matches(".open");
  };

  function everyKeyFromEverywhere(keys) {
    const faults = [], meanings = {}, presses = { count: 0, from: new Set() };
    let clicked = [];
    const stop = (event) => { clicked.push(event.target); event.preventDefault(); event.stopImmediatePropagation(); };
    addEventListener("click", stop, true);
    for (const from of focusable()) {
      for (const key of keys) {
        clicked = [];
        from.focus();
        if (document.activeElement !== from) continue;
        from.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
        presses.count += 1;
        presses.from.add(from);
        const acted = clicked.at(-1) ?? (document.activeElement === from ? null : document.activeElement);
        const say = (what) => faults.push(`${key} from ${name(from)} ${what}${acted ? `: ${name(acted)}` : ""}`);
        const dialog = document.querySelector("dialog[open]");
        if (dialog) { // the palette, where the page has no search of its own
          dialog.close();
          if (key !== "/" || isTyping(from)) say("opens a dialog");
          continue;
        }
        const digit = /^\d$/.test(key);
        const radio = from.matches(".weight input[type=radio]") ? from
          : document.querySelector("form[data-weigh] .weight:not(:has(:checked)) input");
        if (isTyping(from)) { if (acted) say("acts while somebody types"); continue; }
        if (digit && radio) {
          const meant = group(radio).find((each) => each.value === key) ?? null;
          if (acted !== meant) say(`does not set the weight ${key}`);
          continue;
        }
        const offered = keyed().filter((each) => each.dataset.key.toLowerCase() === key && mayAct(each, from));
        if (!acted) { if (offered.length) say(`does nothing, though ${name(offered[0])} shows it`); continue; }
        if (acted.dataset.key?.toLowerCase() !== key) { say("acts on what does not show it"); continue; }
        if (!mayAct(acted, from)) say("acts in another card");
        const shown = (acted.labels?.[0] ?? acted.closest("summary, label, li, p") ?? acted).querySelectorAll("kbd");
        if (shown.length && ![...shown].some((kbd) => kbd.textContent.trim().toLowerCase() === key)) say("shows another key");
        const box = acted.closest("[data-look]")?.getBoundingClientRect();
        if (box && (box.bottom < 0 || box.top > innerHeight)) say("acts on what is not in view");
        const scope = acted.closest("[data-key-scope]");
        (meanings[key] ??= { everywhere: new Set(), inside: new Set() })[scope ? "inside" : "everywhere"].add(label(acted));
      }
    }
    removeEventListener("click", stop, true);
    for (const key of keys) { // the first of two alone would ever act
      const shown = keyed().filter((each) => each.dataset.key.toLowerCase() === key && !each.closest("[data-key-scope]"));
      const labels = [...new Set(shown.map(label))];
      if (labels.length > 1) faults.push(`${key} stands on ${labels.join(" and on ")}`);
    }
    const isCard = document.querySelector("[data-look]"); // each item of a review has keys of its own
    for (const [key, { everywhere, inside }] of Object.entries(meanings)) {
      if (everywhere.size > 1) faults.push(`${key} means ${[...everywhere].join(" and ")}`);
      if (everywhere.size && inside.size && !isCard) faults.push(`${key} means ${[...everywhere]} and, in a card, ${[...inside]}`);
    }
    return { faults, presses: presses.count, reached: presses.from.size };
  }

  /* For pressing keys for good: each key once, with the card it belongs to. */
  function offered() {
    const found = new Map();
    for (const each of keyed()) {
      const key = each.dataset.key.toLowerCase();
      const card = each.closest("[data-key-scope]");
      if (key.length === 1 && !found.has(key)) found.set(key, [key, label(each), card ? `#${card.id}` : ""]);
    }
    return [...found.values()];
  }

  const opened = () => [...document.querySelectorAll("details[open] > summary, dialog[open]")].map(label);
  function fold(how) {
    for (const each of document.querySelectorAll("main details")) {
      if (how !== "as they are") each.open = how === "open";
    }
  }
  function begin(card) {
    document.querySelectorAll("dialog[open]").forEach((each) => each.close());
    fold("closed");
    document.activeElement.blur();
    if (card) document.querySelector(card).focus();
  }
  function changed() {
    if (opened().length) return `opens ${opened()[0]}`;
    const now = document.activeElement;
    return now === document.body ? "nothing" : `focuses ${label(now)}`;
  }

  return { begin, changed, everyKeyFromEverywhere, fold, offered };
})();
