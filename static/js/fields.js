/* Fields that are sent by a button: what is typed into [data-draft="name"] is kept on the server
   within a second, and in this browser at once, until their form is accepted. A hidden input with
   data-draft-choices stands for the radio buttons of its form. Forms that save themselves
   (form[data-autosave]) are left to autosave.js. */
"use strict";

(() => {
  const PREFIX = `assay:field:${document.body.dataset.user ?? ""}:`;
  const URL = `${document.body.dataset.root}api/drafts/`;
  const QUIET = 500, LONGEST_WAIT = 900, RETRY = [2000, 4000, 8000, 15000, 30000];
  const COOKIE = "assay_drafts_settled";
  const page = location.pathname + location.search;

  const states = new Map();
  let onServer = null; // drafts by key, once they are asked for

  const storage = (action) => { try { return action(localStorage); } catch { return null; } };
  const pathOf = (form) => new window.URL(form?.getAttribute("action") || location.href, location.href).pathname;
  const keyOf = (place, name) => `${PREFIX}${place}#${name}`;

  function remember(state, more = {}) {
    const { place, name, version, field } = state;
    const copy = { at: Date.now(), text: field.value, version, synced: false, ...more };
    storage((store) => store.setItem(keyOf(place, name), JSON.stringify(copy)));
  }
  const recall = (place, name) => storage((store) => JSON.parse(store.getItem(keyOf(place, name))));
  const forget = (place, name) => storage((store) => store.removeItem(keyOf(place, name)));

  // -- radio buttons -------------------------------------------------------------------------------

  const radios = (field) => [...field.form.elements].filter((each) => each.type === "radio");
  const said = (radio) => `${radio.name}=${radio.value}`;
  const chosen = (field) => radios(field).filter((each) => each.checked).map(said).join(" ");

  function write(field, text) {
    field.value = text;
    if (!field.matches("[data-draft-choices]")) return;
    const given = text.split(" ");
    for (const radio of radios(field)) radio.checked = given.includes(said(radio));
  }

  // -- keeping ---------------------------------------------------------------------------------

  function ask(method, body) {
    const headers = { "Content-Type": "application/json", Accept: "application/json" };
    Object.assign(headers, JSON.parse(document.body.getAttribute("hx-headers") ?? "{}"));
    return fetch(URL, { method, headers, body: body && JSON.stringify(body), credentials: "same-origin" });
  }

  function changed(state) {
    remember(state);
    if (state.conflict) return;
    state.since ??= Date.now();
    if (!state.busy) assay.sign.set(state, "unsaved");
    const wait = Math.min(QUIET, Math.max(0, state.since + LONGEST_WAIT - Date.now()));
    clearTimeout(state.timer);
    state.timer = setTimeout(keep, wait, state);
  }

  async function keep(state) {
    clearTimeout(state.timer);
    if (state.busy || state.conflict || state.confirmed === state.field.value) return;
    const text = state.field.value;
    const { place, name, version } = state;
    state.busy = true;
    state.since = null;
    assay.sign.set(state, "saving");
    let answer = null, body = null;
    try {
      answer = await ask("PUT", { place, name, page, text, expected: version });
      body = await answer.json();
    } catch { /* the network, or a server that is being started again */ }
    state.busy = false;
    settle(state, answer, body, text);
  }

  function settle(state, answer, body, text) {
    const status = answer?.status ?? 0;
    if (status === 200) {
      state.tries = 0;
      state.version = body.draft?.version ?? 0;
      state.confirmed = text;
      if (state.gone) { // it was on its way while its form was accepted
        if (body.draft) ask("PUT", { place: state.place, name: state.name, text: "", expected: state.version }).catch(() => {});
        forget(state.place, state.name);
        assay.sign.drop(state);
        return;
      }
      if (state.field.value !== text) { changed(state); return; }
      if (text.trim()) remember(state, { synced: true });
      else forget(state.place, state.name);
      assay.sign.set(state, text.trim() ? "kept" : "idle");
    } else if (status === 409 && body?.draft) showBoth(state, body.draft);
    else if (status === 409 || status === 400 || status === 413) assay.sign.set(state, "refused");
    else if (status === 403 || status === 404) assay.sign.set(state, "lost");
    else {
      assay.sign.set(state, status === 401 ? "away" : "error");
      const wait = RETRY[Math.min(state.tries, RETRY.length - 1)];
      state.tries += 1;
      clearTimeout(state.timer);
      state.timer = setTimeout(keep, wait, state);
    }
  }

  // -- what is said beside a field ---------------------------------------------------------------

  function button(text, action, style = "") {
    const made = document.createElement("button");
    made.type = "button";
    made.className = `small ${style}`;
    made.textContent = text;
    made.addEventListener("click", action);
    return made;
  }

  function say(state, words, buttons, { text = "", kind = "" } = {}) {
    state.notice?.remove();
    const box = document.createElement("div");
    box.className = `notice ${kind}`;
    box.setAttribute("role", "status");
    box.dataset.draftNotice = state.name;
    const line = document.createElement("p");
    line.textContent = words;
    box.append(line, ...buttons);
    if (text) {
      const body = document.createElement("div");
      body.className = "verbatim read";
      body.dataset.theirs = "";
      body.textContent = text;
      box.append(body);
    }
    (state.field.closest(".field") ?? state.field).before(box);
    state.notice = box;
  }

  function close(state) { state.notice?.remove(); state.notice = null; }

  function put(state, text) {
    write(state.field, text);
    state.field.dispatchEvent(new Event("input", { bubbles: true }));
  }

  /* Another tab or machine of the same person wrote meanwhile: both are shown, none is lost. */
  function showBoth(state, draft) {
    state.conflict = true;
    assay.sign.set(state, "conflict");
    const choose = (text) => () => {
      state.conflict = false;
      state.version = draft.version;
      state.confirmed = draft.text;
      close(state);
      put(state, text);
      if (text === draft.text) { remember(state, { synced: true }); assay.sign.set(state, "kept"); }
      state.field.focus();
    };
    const buttons = [
      button("Keep what is in the field", () => choose(state.field.value)(), "primary"),
      button("Use the other", choose(draft.text)),
    ];
    say(state, "You wrote something else here in another tab. What you typed is still in the field; the other text is:", buttons, { text: draft.text, kind: "warn" });
  }

  function bringBack(state, text, at) {
    const when = at ? ` (${new Date(at).toLocaleString()})` : "";
    if (!state.field.value.trim() || state.field.value === state.field.defaultValue && !state.field.defaultValue.trim()) {
      write(state.field, text);
      const around = state.field.closest("details");
      if (around) around.open = true;
      const empty = button("Start empty", () => { close(state); put(state, ""); state.field.focus(); });
      say(state, `What you typed here before${when} is back.`, [empty]);
      return;
    }
    const use = button("Use it", () => { close(state); put(state, text); }, "primary");
    const drop = button("Discard it", () => { close(state); changed(state); });
    say(state, `You typed something else here before${when}:`, [use, drop], { text });
  }

  // -- start -------------------------------------------------------------------------------------

  async function load() {
    try {
      const answer = await fetch(`${URL}?limit=500`, { headers: { Accept: "application/json" }, credentials: "same-origin" });
      const { results } = await answer.json();
      return new Map(results.map((each) => [keyOf(each.place, each.name), each]));
    } catch { return new Map(); }
  }

  async function adopt(field) {
    if (field.matches("[data-draft-choices]")) field.value = chosen(field);
    const name = field.dataset.draft;
    const place = pathOf(field.form);
    const state = {
      field, name, place, version: 0, confirmed: field.value, timer: 0, tries: 0, since: null,
      busy: true, conflict: false, notice: null, gone: false,
    };
    states.set(field, state);
    if (field.form) {
      const told = document.createElement("input");
      told.type = "hidden";
      told.name = "_drafts";
      told.value = name;
      field.form.append(told);
    }
    const before = field.value;
    onServer ??= load();
    const kept = (await onServer).get(keyOf(place, name));
    const mine = recall(place, name);
    state.busy = false;
    state.version = kept?.version ?? 0;
    state.confirmed = kept?.text ?? before;
    if (mine?.synced && !kept) forget(place, name);
    const unsent = mine && !mine.synced && mine.text !== (kept?.text ?? "");
    if (field.value !== before) { changed(state); return; } // typing went on meanwhile
    const text = unsent ? mine.text : kept?.text;
    /* Typed over what was known then: if the server has something newer, both are shown. */
    if (unsent) state.version = mine.version;
    if (text?.trim() && text !== field.value) bringBack(state, text, unsent ? mine.at : kept.updated_at);
    if (unsent && field.value === mine.text) changed(state);
    else if (kept && field.value === kept.text) assay.sign.set(state, "kept");
  }

  function start() {
    for (const [field, state] of states) {
      if (field.isConnected) continue;
      states.delete(field);
      if (state.busy || state.confirmed === field.value) assay.sign.drop(state);
      else keep(state); // taken off the page while it was typed in
    }
    for (const field of document.querySelectorAll("[data-draft]")) {
      if (!states.has(field) && !field.closest("form[data-autosave]")) adopt(field);
    }
  }

  /* The server says by a cookie which form was accepted; its copies are not needed any more. */
  function forgetSettled() {
    const found = document.cookie.split("; ").find((each) => each.startsWith(`${COOKIE}=`));
    if (!found) return;
    document.cookie = `${COOKIE}=; Max-Age=0; Path=/; SameSite=Lax`;
    const { place, names } = JSON.parse(decodeURIComponent(found.slice(COOKIE.length + 1)));
    for (const name of names) {
      forget(place, name);
      onServer?.then((kept) => kept.delete(keyOf(place, name)));
    }
    for (const state of states.values()) {
      if (state.place !== place || !names.includes(state.name)) continue;
      clearTimeout(state.timer);
      close(state);
      state.confirmed = state.field.value;
      state.version = 0;
      state.gone = true;
      assay.sign.drop(state);
    }
  }

  document.addEventListener("input", (event) => {
    const state = states.get(event.target);
    if (state) { state.gone = false; changed(state); }
  });
  document.addEventListener("change", ({ target }) => {
    const field = target.type === "radio" && target.form?.querySelector("[data-draft-choices]");
    if (!field) return;
    field.value = chosen(field);
    field.dispatchEvent(new Event("input", { bubbles: true }));
  });
  document.addEventListener("focusout", (event) => {
    const state = states.get(event.target);
    if (state && state.since) keep(state);
  });
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) for (const state of states.values()) if (state.since) keep(state);
  });
  addEventListener("online", () => { for (const state of states.values()) keep(state); });
  document.addEventListener("submit", (event) => {
    for (const state of states.values()) {
      if (state.field.form === event.target) { clearTimeout(state.timer); state.since = null; }
    }
  });
  document.addEventListener("htmx:afterRequest", forgetSettled);
  document.addEventListener("htmx:afterSettle", start);

  forgetSettled();
  start();
})();
