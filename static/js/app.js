/* What every page can do: messages, dialogs, copying, focus after a swap. */
"use strict";

(() => {
  const REASONS = {
    0: "The server cannot be reached. What you typed is still here; try again in a moment.",
    400: "The server did not understand this. Reload the page and try once more.",
    403: "You may not do this, or you signed in again meanwhile. Reload the page.",
    404: "This is not there any more. Reload the page.",
    413: "This is too large to send.",
    429: "Too many requests. Wait a moment, then try again.",
    500: "Something went wrong on the server. Nothing was changed; try again in a minute.",
    503: "The server is busy or its disk is full. Nothing was changed; try again in a minute.",
  };

  const byId = (id) => document.getElementById(id);

  // -- messages ----------------------------------------------------------------------------------

  function toast(text, status) {
    const box = byId("toasts");
    if (!box || [...box.querySelectorAll("p")].some((p) => p.textContent === text)) return;
    const item = document.createElement("div");
    item.className = "message bad";
    item.dataset.status = status;
    const words = document.createElement("p");
    words.textContent = text;
    const close = document.createElement("button");
    close.type = "button";
    close.className = "quiet small";
    close.dataset.dismiss = "";
    close.setAttribute("aria-label", "Dismiss this message");
    close.textContent = "×";
    item.append(words, close);
    box.append(item);
  }

  /* Autosave shows its failures in the saved sign; a poll that fails is asked again anyway. */
  const speaksItself = (element) => element && element.matches("[data-autosave-source]");
  const isPoll = (element) => /\bevery\b/.test(element?.getAttribute("hx-trigger") ?? "");

  function failed(event) {
    if (speaksItself(event.detail.elt)) return;
    const status = event.detail.xhr?.status ?? 0;
    toast(REASONS[status] ?? (status >= 500 ? REASONS[500] : REASONS[400]), status);
  }

  function dismiss(which = ".message") {
    for (const each of document.querySelectorAll(`.messages ${which}`)) each.remove();
  }

  /* A deed of the person leaves behind what was said of the one before it; the answer to it brings
     its own messages, and is swapped in after this. What is shown in a dialog is no deed. */
  const isDeed = ({ requestConfig, target }) =>
    !isPoll(requestConfig?.elt) && !speaksItself(requestConfig?.elt) && !target?.closest("dialog") &&
    (requestConfig?.verb !== "get" || ["click", "submit"].includes(requestConfig.triggeringEvent?.type));

  document.addEventListener("htmx:beforeSwap", (event) => {
    const { status } = event.detail.xhr;
    if (status >= 400 && status !== 409 && status !== 422) return;
    if (isDeed(event.detail)) dismiss();
    else dismiss("[data-status='0'], .messages [data-status^='5']"); // the server is back
  });

  /* Somebody who reads on has seen it: it stays where it is in the page. */
  let arrived = 0, from = 0;
  const messages = document.querySelector(".messages");
  new MutationObserver((changes) => {
    if (!changes.some((each) => each.addedNodes.length)) return;
    messages.classList.remove("passed");
    arrived = performance.now();
    from = scrollY;
  }).observe(messages, { childList: true, subtree: true });

  document.addEventListener("scroll", () => {
    if (performance.now() - arrived < 500) from = scrollY; // the page itself goes to what is next
    else if (Math.abs(scrollY - from) > 150) messages.classList.add("passed");
  }, { passive: true });

  for (const name of ["htmx:responseError", "htmx:sendError", "htmx:timeout"]) {
    document.addEventListener(name, failed);
  }

  /* A page in a background tab need not poll; it asks again when it is looked at. */
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (document.hidden && isPoll(event.detail.elt)) event.preventDefault();
  });

  /* A conflict whose place is not on the page must still be seen. */
  document.addEventListener("htmx:oobErrorNoTarget", (event) => {
    const { content } = event.detail;
    if (content?.id?.startsWith("conflict-")) byId("messages")?.append(content);
  });

  document.addEventListener("htmx:afterSettle", (event) => {
    const inside = event.detail.elt;
    const next = inside?.matches?.("[data-focus]") ? inside : inside?.querySelector?.("[data-focus]");
    next?.focus();
    next?.removeAttribute("data-focus"); // said once: the next swap has a wish of its own
  });

  /* Who is on the way to another page is not called back by the end of what this one waited for. */
  let left = -Infinity;
  addEventListener("beforeunload", () => { left = performance.now(); });
  document.addEventListener("htmx:beforeOnLoad", (event) => {
    const { requestConfig, xhr } = event.detail;
    const calls = xhr.getResponseHeader("HX-Redirect") ?? xhr.getResponseHeader("HX-Refresh");
    // Only what the page asks by itself; a link to a file does not lead away for long.
    if (calls && !requestConfig.triggeringEvent && performance.now() - left < 10_000) event.preventDefault();
  });

  /* On a phone what the work is about comes first; what it is held against is a tap away. */
  function fold(inside) {
    if (!matchMedia("(max-width: 900px)").matches) return;
    for (const each of inside.querySelectorAll("details[data-folds-small]")) each.open = false;
  }
  fold(document);
  document.addEventListener("htmx:afterSwap", (event) => fold(event.detail.elt));

  function jump(target) {
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    target.scrollIntoView({ block: "center", behavior: calm ? "auto" : "smooth" });
    target.classList.add("flash");
    setTimeout(() => target.classList.remove("flash"), 2000);
  }

  async function copy(button) {
    const source = document.querySelector(button.dataset.copy);
    const text = source.value ?? source.textContent.trim();
    const label = button.innerHTML;
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      source.select?.();
      button.textContent = "Press Ctrl+C";
    }
    setTimeout(() => { button.innerHTML = label; }, 2500);
  }

  const ON_CLICK = {
    "[data-dismiss]": (button) => button.closest(".message").remove(),
    "[data-dialog]": (button) => byId(button.dataset.dialog)?.showModal(),
    "[data-close]": (button) => button.closest("dialog")?.close(),
    "[data-copy]": copy,
    /* Goes round: from the element that has the focus to the next of its kind. */
    "[data-cycle]": (button) => {
      const all = [...document.querySelectorAll(button.dataset.cycle)];
      const here = all.findIndex((each) => each.contains(button.cycled ?? null));
      const next = all[(here + 1) % all.length];
      button.cycled = next;
      next?.focus();
    },
    "[data-jump]": (button, event) => {
      const target = document.querySelector(button.dataset.jump);
      if (target) { event.preventDefault(); jump(target); }
    },
  };

  document.addEventListener("click", (event) => {
    for (const [selector, action] of Object.entries(ON_CLICK)) {
      const element = event.target.closest?.(selector);
      if (element) action(element, event);
    }
    for (const menu of document.querySelectorAll("[data-menu][open]")) {
      if (!menu.contains(event.target)) menu.open = false;
    }
    if (event.target.matches?.("dialog")) event.target.close();
  });

  document.addEventListener("submit", (event) => {
    const question = event.submitter?.dataset.confirm ?? event.target.dataset.confirm;
    /* A long question has line breaks in its template. */
    if (question && !confirm(question.replace(/\s+/g, " "))) {
      event.preventDefault();
      event.stopImmediatePropagation();
    }
  }, true);

  /* On a phone a row of pages is longer than the screen: the current one is shown. */
  function showCurrent() {
    for (const each of document.querySelectorAll(".sections [aria-current], .tabs [aria-current]")) {
      const { parentElement: row } = each;
      row.scrollLeft = each.offsetLeft - row.offsetLeft - (row.clientWidth - each.offsetWidth) / 2;
    }
  }
  showCurrent();
  addEventListener("resize", showCurrent);

  window.assay = { dismiss, jump };
})();
