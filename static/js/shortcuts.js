/* One listener for every key: what carries data-key is clicked, fields are focused. */
"use strict";

(() => {
  const CHOICES = ["radio", "checkbox", "button", "submit", "reset", "file", "range"];
  const SUBMIT = "mod+enter";

  const isTyping = (element) =>
    element.isContentEditable ||
    element.matches("textarea, select") ||
    (element.matches("input") && !CHOICES.includes(element.type));

  /* What a closed <details> hides has a place on the page all the same: its boxes do not tell. */
  const isSeen = (element) => element.checkVisibility?.() ?? element.getClientRects().length > 0;
  const isUsable = (element) =>
    !element.disabled && element.getAttribute("aria-disabled") !== "true" && isSeen(element);

  /* While a dialog is open, only its own keys count. */
  const place = () => document.querySelector("dialog[open]") ?? document;

  /* Keys of data-key-scope="focus" count only while the focus is inside. */
  const isOpen = (element) =>
    element.closest("[data-key-scope=focus]")?.contains(document.activeElement) ?? true;

  function candidates(key) {
    return [...place().querySelectorAll("[data-key]")].filter(
      (element) => element.dataset.key.toLowerCase() === key && isUsable(element) && isOpen(element));
  }

  /* Several cards may offer the same key: the one with the focus wins, then the open one; what is
     in neither is perhaps out of sight, and no key acts on it. */
  function pick(found) {
    const scope = (element) => element.closest("[data-key-scope]");
    return found.find((element) => scope(element)?.contains(document.activeElement)) ??
      found.find((element) => scope(element)?.matches(".open")) ??
      found.find((element) => !scope(element));
  }

  const isChoice = (element) => element.matches("input[type=radio]");
  const choices = (radio) => [...radio.form.elements].filter((each) => isChoice(each) && each.name === radio.name);

  function choose(radio) {
    radio.focus();
    radio.click();
  }

  /* A digit inside a weight is that weight and nothing else. In a form[data-weigh], which asks for
     weights alone, it goes from anywhere to the first one that is missing; with data-weigh="next"
     the focus then waits at the one that is missing after it. */
  function weigh(target, key) {
    const inside = isChoice(target) && target.closest(".weight");
    const here = inside ? target : place().querySelector("form[data-weigh] .weight:not(:has(:checked)) input");
    const found = here?.form && choices(here).find((each) => (each.dataset.digit ?? each.value) === key && !each.matches(":disabled"));
    if (found) choose(found);
    if (found?.form.dataset.weigh === "next") found.form.querySelector(".weight:not(:has(:checked)) input")?.focus();
    return Boolean(inside || found);
  }

  /* Browsers begin an unset group at its second choice. */
  function isBegun(target, key) {
    if (!key.startsWith("Arrow") || !isChoice(target) || !target.form) return false;
    const all = choices(target).filter((each) => !each.matches(":disabled"));
    if (!all.length || all.some((each) => each.checked)) return false;
    choose(all[0]);
    return true;
  }

  function act(element) {
    if (element.matches("textarea, select") || (element.matches("input") && isTyping(element))) {
      element.focus();
      element.select?.();
      return;
    }
    element.focus({ preventScroll: true });
    element.click();
  }

  /* What Ctrl+Enter means in a form: the button that says so, else the main one, else the only
     one. Among several equal choices it means nothing: a label must be chosen, not slipped into. */
  function mainButton(form) {
    const all = [...form.elements].filter((each) => each.type === "submit");
    const ends = all.filter((each) => !each.hasAttribute("formaction"));
    const main = ends.find((each) => each.dataset.key === SUBMIT) ?? ends.find((each) => each.matches(".primary"));
    return { button: main ?? (ends.length === 1 ? ends[0] : null), isChoice: !main && ends.length > 1 };
  }

  function submitWithin(element) {
    const own = element.closest?.("form:not([role=search])") ?? element.form;
    const form = own ?? place().querySelector("form[data-main]");
    if (!form) return pick(candidates(SUBMIT))?.click();
    const { button, isChoice } = mainButton(form);
    /* Clicked, not passed to requestSubmit: htmx 2 learns name and value from the click alone. */
    if (button) button.click();
    else if (!isChoice) form.requestSubmit();
  }

  function name(element) {
    if (element.dataset.keyLabel || element.getAttribute("aria-label")) {
      return element.dataset.keyLabel || element.getAttribute("aria-label");
    }
    const copy = (element.labels?.[0] ?? element).cloneNode(true);
    for (const kbd of copy.querySelectorAll("kbd")) kbd.remove();
    return copy.textContent.trim().replace(/\s+/g, " ") || element.title;
  }

  const SHOWN = { [SUBMIT]: "Ctrl ↵", "mod+k": "Ctrl K", "?": "?", "/": "/" };
  const shown = (key) => SHOWN[key] ?? (key.length === 1 ? key.toUpperCase() : key);

  function listed() {
    const keys = new Map();
    const all = [...document.querySelectorAll("main [data-key], .top [data-key], .deck [data-key]")].filter(isUsable);
    for (const element of all) {
      const key = element.dataset.key.toLowerCase();
      const same = all.filter((each) => each.dataset.key.toLowerCase() === key);
      if (key !== "?" && !keys.has(key)) keys.set(key, name(pick(same) ?? element));
    }
    const form = document.querySelector("main form:not([role=search]), form[data-main]");
    if (form && !keys.has(SUBMIT)) keys.set(SUBMIT, "Send the form you are in");
    keys.set("?", "This list");
    return keys;
  }

  function fill(list) {
    list.replaceChildren(...[...listed()].flatMap(([key, text]) => {
      const term = document.createElement("dt");
      const kbd = document.createElement("kbd");
      kbd.textContent = shown(key);
      term.append(kbd);
      const what = document.createElement("dd");
      what.textContent = text;
      return [term, what];
    }));
  }

  document.addEventListener("click", (event) => {
    if (event.target.closest?.("[data-dialog=keys]")) fill(document.querySelector("[data-keys]"));
  }, true);

  /* People who speak their input, or hit keys by accident, can switch single keys off. */
  const OFF = "assay:keys-off";
  const areOff = () => { try { return localStorage.getItem(OFF) === "1"; } catch { return false; } };
  const box = document.querySelector("[data-keys-off]");
  if (box) {
    box.checked = areOff();
    box.addEventListener("change", () => {
      try { localStorage.setItem(OFF, box.checked ? "1" : "0"); } catch { box.checked = false; }
    });
  }

  function openKeys() {
    const dialog = document.getElementById("keys");
    if (!dialog || dialog.open) return;
    fill(dialog.querySelector("[data-keys]"));
    dialog.showModal();
  }

  function openPalette() {
    const dialog = document.getElementById("palette");
    if (!dialog || document.querySelector("dialog[open]")) return false;
    dialog.showModal();
    dialog.querySelector("input").select();
    return true;
  }

  /* In what was found the arrows go from the field through the links and round; Enter in the field
     opens the first. */
  function walkFound(event) {
    const dialog = event.target.closest?.("#palette");
    const step = { ArrowDown: 1, ArrowUp: -1, Enter: 0 }[event.key];
    if (!dialog || step === undefined) return;
    const links = [...dialog.querySelectorAll("[data-found] a")];
    const all = [dialog.querySelector("input"), ...links];
    const here = all.indexOf(event.target);
    if (step) all[(here + step + all.length) % all.length].focus();
    else if (here === 0) links[0]?.click();
    if (step || here === 0) event.preventDefault();
  }

  /* Esc leaves a field for what it belongs to, so that the focus stays in sight. */
  function leave(field) {
    const around = field.closest("details")?.querySelector("summary") ?? field.closest("[tabindex]:not(main)");
    if (around) around.focus({ preventScroll: true });
    else field.blur();
  }

  function onKey(event) {
    if (event.defaultPrevented || event.isComposing || event.repeat) return;
    const target = event.target;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      submitWithin(target);
      return;
    }
    if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && openPalette()) {
      event.preventDefault();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") {
      if (isTyping(target) || (isChoice(target) && target.closest(".weight"))) leave(target);
      else if (!document.querySelector("dialog[open]") && !target.closest("[data-spans]")) assay.dismiss();
      return;
    }
    if (isTyping(target)) return;
    if (isBegun(target, event.key)) { event.preventDefault(); return; }
    if (areOff()) return;
    if (/^\d$/.test(event.key) && weigh(target, event.key)) { event.preventDefault(); return; }
    const found = pick(candidates(event.key.toLowerCase()));
    if (found) { event.preventDefault(); act(found); return; }
    /* The button that opens the list is hidden on small screens; the key is not. */
    if (event.key === "?") { event.preventDefault(); openKeys(); }
    /* On a page without a search of its own the key of searches opens the one of everything. */
    if (event.key === "/" && openPalette()) event.preventDefault();
  }

  document.addEventListener("keydown", walkFound);
  document.addEventListener("keydown", onKey);
})();
