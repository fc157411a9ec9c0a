/* Autosave of form[data-autosave]: a draft is posted within a second of each keystroke and when a
   field is left. drafts.js keeps a copy until the server has confirmed it. */
"use strict";

(() => {
  const { bases } = assay;
  const { address, snapshot, keep, forget, offer, offerHomeless } = assay.drafts;
  /* After so many quiet milliseconds, and while typing goes on after at most so many. */
  const QUIET = 600, LONGEST_WAIT = 900;
  const RETRY = [2000, 4000, 8000, 15000, 30000];
  const states = new Map();
  let leaving = false;

  const formOf = (element) => element?.form ?? element?.closest?.("form");
  const stateOf = (element) => states.get(formOf(element));

  function say(state, status) {
    state.status = status;
    assay.sign.set(state, status);
  }

  // -- saving ----------------------------------------------------------------------------------

  function changed(state) {
    keep(state.form);
    if (state.status !== "saving" && state.status !== "conflict") say(state, "unsaved");
    clearTimeout(state.timer);
    state.since ??= Date.now();
    const wait = Math.min(QUIET, Math.max(0, state.since + LONGEST_WAIT - Date.now()));
    state.timer = setTimeout(save, wait, state);
  }

  const isDirty = (state) => snapshot(state.form) !== state.confirmed;

  function save(state) {
    clearTimeout(state.timer);
    if (state.sent !== null || state.status === "conflict" || !state.form.isConnected) return;
    if (!isDirty(state)) { say(state, state.status === "idle" ? "idle" : "saved"); return; }
    state.sent = snapshot(state.form);
    state.since = null;
    say(state, "saving");
    htmx.ajax("POST", address(state.form), { source: state.source, swap: "none", values: { intent: "draft" } })
      .catch(() => {});
  }

  function retry(state) {
    const wait = RETRY[Math.min(state.tries, RETRY.length - 1)];
    state.tries += 1;
    clearTimeout(state.timer);
    state.timer = setTimeout(save, wait, state);
  }

  function confirmed(state, sent) {
    state.tries = 0;
    state.confirmed = bases.follow(state.form, sent);
    if (isDirty(state)) { changed(state); say(state, "unsaved"); return; }
    if (!state.offered?.isConnected) forget(state.form);
    say(state, "saved");
  }

  function finished(state, status) {
    const sent = state.sent;
    state.sent = null;
    if (leaving) return;
    if (status >= 200 && status < 300) confirmed(state, sent);
    else if (status === 409) say(state, "conflict");
    else if (status === 422 || status === 400 || status === 413) say(state, "refused");
    else if (status === 403 || status === 404 || status === 410) say(state, "lost");
    else { say(state, "error"); retry(state); }
    const { waiting } = state;
    state.waiting = null;
    /* Only "Submit", pressed while a draft was on its way, waits; a conflict is settled first. */
    if (!waiting || state.status === "conflict") return;
    clearTimeout(state.timer);
    state.passing = true;
    /* A click, because htmx 2 learns the button's name and value from nothing else. */
    if (waiting.submitter) waiting.submitter.click();
    else state.form.requestSubmit();
    state.passing = false;
  }

  document.addEventListener("htmx:beforeOnLoad", (event) => {
    if (event.detail.xhr.getResponseHeader("HX-Redirect")) leaving = true;
  });

  document.addEventListener("htmx:afterRequest", (event) => {
    for (const state of states.values()) {
      if (event.detail.elt === state.source) finished(state, event.detail.xhr?.status ?? 0);
      else if (event.detail.elt === state.form) submitted(state, event.detail);
    }
  });

  function submitted(state, { successful, xhr }) {
    state.submitting = false;
    if (!successful) return;
    if (xhr.status === 409) { say(state, "conflict"); return; }
    if (xhr.status !== 422) { forget(state.form); state.confirmed = snapshot(state.form); say(state, "saved"); }
  }

  // -- events ----------------------------------------------------------------------------------

  document.addEventListener("input", (event) => {
    const state = stateOf(event.target);
    if (state) changed(state);
  });

  for (const name of ["change", "focusout"]) {
    document.addEventListener(name, (event) => {
      const state = stateOf(event.target);
      if (state && !state.submitting && isDirty(state)) { if (name === "change") keep(state.form); save(state); }
    });
  }

  document.addEventListener("submit", (event) => {
    const state = states.get(event.target);
    if (!state) return;
    clearTimeout(state.timer);
    /* What was just typed is saved as a draft first, so that its copy here can be forgotten. */
    const busy = state.sent !== null || (isDirty(state) && state.status !== "conflict");
    if (busy && !state.passing) {
      event.preventDefault();
      event.stopImmediatePropagation();
      state.waiting = { submitter: event.submitter };
      save(state);
      return;
    }
    state.submitting = true;
    if (!state.form.matches("[hx-post], [hx-put]")) leaving = true;
  }, true);

  document.addEventListener("click", (event) => {
    const choice = event.target.closest?.("[data-conflict]");
    if (choice) settle(choice);
  });

  /* Both ways send the version that is stored now: the choice is made knowing it. */
  function settle(choice) {
    const box = choice.closest(".conflict");
    const version = document.getElementById(box.dataset.versionId);
    const form = formOf(version);
    if (!form) return;
    version.value = box.dataset.version;
    const field = form.elements[box.dataset.field];
    for (const { dataset, textContent } of box.querySelectorAll("[data-theirs]")) {
      bases.set(form, dataset.theirs, textContent);
      if (choice.dataset.conflict === "theirs") form.elements[dataset.theirs].value = textContent;
    }
    box.remove();
    (field.focus ? field : field[0]).focus(); // a group of radios is a list
    const state = states.get(form);
    if (!state) { form.requestSubmit(); return; }
    state.confirmed = null;
    say(state, "unsaved");
    save(state);
  }

  addEventListener("online", () => { for (const state of states.values()) if (isDirty(state)) save(state); });
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) for (const state of states.values()) if (isDirty(state)) save(state);
  });

  addEventListener("beforeunload", (event) => {
    const open = [...states.values()].some((state) => state.form.isConnected && isDirty(state));
    if (open && !leaving) event.preventDefault();
  });
  /* A page that comes back from the browser's own cache can be left again. */
  addEventListener("pageshow", () => { leaving = false; });

  // -- start -----------------------------------------------------------------------------------

  function adopt(form) {
    if (states.has(form)) return;
    /* Not the form itself: htmx would refuse to send a draft whose required fields are empty. */
    const source = document.createElement("span");
    source.hidden = true;
    source.dataset.autosaveSource = "";
    form.append(source);
    const state = {
      form, source, status: "idle", confirmed: snapshot(form), sent: null, timer: 0, tries: 0,
      waiting: null, passing: false, submitting: false, offered: null, since: null,
    };
    states.set(form, state);
    state.offered = offer(form, () => changed(state));
  }

  function start() {
    for (const [form, state] of states) {
      if (!form.isConnected) { states.delete(form); assay.sign.drop(state); }
    }
    for (const form of document.querySelectorAll("form[data-autosave]")) adopt(form);
  }

  start();
  offerHomeless([...states.keys()]);
  document.addEventListener("htmx:afterSettle", start);
})();
