/* What was typed into form[data-autosave], kept in this browser's storage until the server has
   confirmed it: a killed tab, a lost network or an expired sign-in loses nothing. */
"use strict";

(() => {
  const { bases } = assay;
  const KEEP = 14 * 24 * 3600 * 1000;
  const PREFIX = "assay:draft:";

  const address = (form) => form.getAttribute("action") || location.pathname + location.search;

  function keyOf(form) {
    const user = form.dataset.user ?? document.body.dataset.user ?? "";
    return `${PREFIX}${user}:${form.dataset.autosaveKey ?? address(form)}`;
  }

  /* What a person can change: all fields but tokens, versions, bases and files. */
  function snapshot(form) {
    const skipped = ["csrfmiddlewaretoken", "version", "intent"];
    return JSON.stringify([...new FormData(form)].filter(([name, value]) =>
      !skipped.includes(name) && !bases.isBase(name) && typeof value === "string"));
  }

  const storage = (action) => { try { return action(localStorage); } catch { return null; } };

  function keep(form) {
    const fields = JSON.parse(snapshot(form));
    const title = document.title.trim().split(/\s*·\s*/)[0];
    const copy = { at: Date.now(), page: location.pathname, title, fields, bases: bases.read(form) };
    storage((store) => store.setItem(keyOf(form), JSON.stringify(copy)));
  }

  const forget = (form) => storage((store) => store.removeItem(keyOf(form)));

  function forgetOld() {
    storage((store) => {
      for (const key of Object.keys(store).filter((each) => each.startsWith(PREFIX))) {
        const { at } = JSON.parse(store.getItem(key));
        if (Date.now() - at > KEEP) store.removeItem(key);
      }
    });
  }

  const ownKeys = (store) => Object.keys(store).filter((each) =>
    each.startsWith(`${PREFIX}${document.body.dataset.user ?? ""}:`));
  const wordsOf = (copy) => copy.fields.map(([, value]) => value).filter((value) => value.trim().length > 1);

  const same = (a, b) => a.replace(/\r\n/g, "\n").trim() === b.replace(/\r\n/g, "\n").trim();

  function put(form, fields) {
    for (const control of form.elements) {
      const values = fields.filter(([name]) => name === control.name).map(([, value]) => value);
      if (!values.length || ["hidden", "file", "submit", "button"].includes(control.type)) continue;
      if (["radio", "checkbox"].includes(control.type)) control.checked = values.includes(control.value);
      else if (control.type === "select-multiple") {
        for (const option of control.options) option.selected = values.includes(option.value);
      } else control.value = values[0];
    }
  }

  /* Only text that a person would miss is offered; a copy exists only while unconfirmed, so it is
     newer than the page unless it says the same. */
  function missing(form, copy) {
    const now = new FormData(form);
    const before = Object.fromEntries(copy.bases ?? []);
    return copy.fields.filter(([name, value]) => {
      const control = form.elements[name];
      return control && control.type !== "hidden" && value.trim() &&
        !(name in before && same(before[name], value)) &&
        !now.getAll(name).some((each) => same(String(each), value));
    });
  }

  function button(text, action, style = "") {
    const made = document.createElement("button");
    made.type = "button";
    made.className = `small ${style}`;
    made.textContent = text;
    made.addEventListener("click", action);
    return made;
  }

  /* Shows what was kept but never saved; gives the notice, or null where nothing is missing. */
  function offer(form, restored) {
    const text = storage((store) => store.getItem(keyOf(form)));
    if (!text) return null;
    const copy = JSON.parse(text);
    const fields = missing(form, copy);
    if (!fields.length) { forget(form); return null; }
    const box = document.createElement("div");
    box.className = "notice warn";
    box.setAttribute("role", "status");
    const words = document.createElement("p");
    words.textContent = `Something you typed here (${new Date(copy.at).toLocaleString()}) was not saved.`;
    const more = document.createElement("details");
    const head = document.createElement("summary");
    head.textContent = "Show it";
    const body = document.createElement("div");
    body.className = "verbatim read";
    body.textContent = fields.map(([, value]) => value).join("\n\n");
    more.append(head, body);
    const restore = () => {
      put(form, copy.fields);
      /* With the bases of then: what others wrote since is still theirs. */
      for (const [name, value] of copy.bases ?? []) bases.set(form, name, value);
      box.remove();
      restored();
    };
    const discard = () => { forget(form); box.remove(); };
    box.append(words, button("Restore what you typed", restore, "primary"), button("Discard", discard), more);
    form.prepend(box);
    return box;
  }

  /* Typed on this page, never saved, and the form is not there any more: the query was passed on,
     or submitted in another tab. The words are shown, to be copied or thrown away. */
  function offerHomeless(forms) {
    const main = document.getElementById("main");
    const here = new Set(forms.map(keyOf));
    storage((store) => {
      for (const key of ownKeys(store).filter((each) => !here.has(each))) {
        const copy = JSON.parse(store.getItem(key));
        const words = wordsOf(copy);
        if (copy.page !== location.pathname || !words.length) continue;
        const box = document.createElement("div");
        box.className = "notice warn";
        box.setAttribute("role", "status");
        const line = document.createElement("p");
        line.textContent = `You typed this here (${new Date(copy.at).toLocaleString()}); it could not be saved.`;
        const body = document.createElement("div");
        body.className = "verbatim read";
        body.textContent = words.join("\n\n");
        box.append(line, body, button("Discard", () => { store.removeItem(key); box.remove(); }));
        main.prepend(box);
      }
    });
  }

  /* At home: the pages of this browser with something that was never saved. */
  function listUnsaved() {
    const list = document.getElementById("unsaved");
    const found = list && storage((store) => ownKeys(store).map((key) => JSON.parse(store.getItem(key))));
    const pages = new Map((found ?? []).filter((copy) => wordsOf(copy).length).map((copy) => [copy.page, copy]));
    for (const [page, copy] of pages) {
      const link = document.createElement("a");
      link.href = page;
      link.textContent = copy.title ?? page;
      const line = document.createElement("p");
      line.append("Typed and not saved: ", link, `, ${new Date(copy.at).toLocaleString()}`);
      list.append(line);
    }
    if (pages.size) list.hidden = false;
  }

  forgetOld();
  listUnsaved();
  window.assay.drafts = { address, snapshot, keep, forget, offer, offerHomeless };
})();
