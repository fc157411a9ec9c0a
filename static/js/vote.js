/* The vote page: time on a case, and the cursor in the reason when it is opened. */
"use strict";

(() => {
  let since = performance.now();
  let shown = location.pathname;

  /* Only a new case starts the clock again; a form that came back with an error does not. */
  document.addEventListener("htmx:afterSettle", () => {
    if (location.pathname !== shown) { shown = location.pathname; since = performance.now(); }
  });

  /* Fired for plain and for htmx submits alike, when the fields are collected. */
  document.addEventListener("formdata", (event) => {
    if (event.target.matches("[data-vote]")) {
      event.formData.set("elapsed_ms", String(Math.round(performance.now() - since)));
    }
  });

  document.addEventListener("toggle", (event) => {
    const { target } = event;
    if (target.open && target.querySelector("[form=vote-form]")) target.querySelector("textarea")?.focus();
  }, true);
})();
