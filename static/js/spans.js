/* Choosing a piece of a text by mouse or keyboard. [data-spans="#start,#end"] names two hidden
   inputs that receive the piece as offsets in code points of the element's text; the server cuts
   its own text by them and shows what it understood. */
"use strict";

(() => {
  const codePoints = (text) => [...text].length;

  /* Offsets in UTF-16 units, as the DOM counts, of a range inside the element. */
  function unitsOf(element, range) {
    const before = document.createRange();
    before.selectNodeContents(element);
    before.setEnd(range.startContainer, range.startOffset);
    const start = before.toString().length;
    return [start, start + range.toString().length];
  }

  function rangeOf(element, start, end) {
    const range = document.createRange();
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    let seen = 0;
    let node = walker.nextNode();
    for (let open = true; node; node = walker.nextNode()) {
      const { length } = node.data;
      if (open && start <= seen + length) { range.setStart(node, start - seen); open = false; }
      if (end <= seen + length) { range.setEnd(node, end - seen); break; }
      seen += length;
    }
    return range;
  }

  /* Pieces that were kept already, told in code points by elements with data-start and data-end. */
  function paintKept(element) {
    if (!CSS.highlights || !element.dataset.spansMarks) return;
    const text = [...element.textContent];
    const units = (offset) => text.slice(0, offset).join("").length;
    const ranges = [...document.querySelectorAll(element.dataset.spansMarks)]
      .map((each) => rangeOf(element, units(Number(each.dataset.start)), units(Number(each.dataset.end))));
    CSS.highlights.set("kept", new Highlight(...ranges));
  }

  /* White space at the ends is never meant. */
  function trimmed(text, start, end) {
    const piece = text.slice(start, end);
    return [start + piece.length - piece.trimStart().length, end - (piece.length - piece.trimEnd().length)];
  }

  function sentences(text) {
    if (!Intl.Segmenter) {
      return [...text.matchAll(/[^.!?\n]+(?:[.!?]+["”’)]*|\n|$)/g)].map((each) => [each.index, each.index + each[0].length]);
    }
    const pieces = new Intl.Segmenter("en", { granularity: "sentence" }).segment(text);
    return [...pieces].filter((each) => each.segment.trim())
      .map((each) => trimmed(text, each.index, each.index + each.segment.length));
  }

  const inputs = (element) => element.dataset.spans.split(",").map((each) => document.querySelector(each.trim()));

  function paint(element, units) {
    if (!CSS.highlights) return;
    if (units) CSS.highlights.set("span", new Highlight(rangeOf(element, ...units)));
    else CSS.highlights.delete("span");
  }

  function describe(element, piece) {
    const place = element.dataset.spansOutput && document.querySelector(element.dataset.spansOutput);
    if (!place) return;
    const words = piece.split(/\s+/).filter(Boolean).length;
    const short = piece.length > 90 ? `${piece.slice(0, 60)} … ${piece.slice(-25)}` : piece;
    place.textContent = piece ? `Chosen, ${words} ${words === 1 ? "word" : "words"}: “${short}”` : "Nothing chosen";
  }

  function choose(element, units) {
    const text = element.textContent;
    const [start, end] = units ? trimmed(text, ...units) : [0, 0];
    const chosen = end > start;
    const [first, last] = inputs(element);
    first.value = chosen ? codePoints(text.slice(0, start)) : "";
    last.value = chosen ? codePoints(text.slice(0, end)) : "";
    paint(element, chosen ? [start, end] : null);
    describe(element, chosen ? text.slice(start, end) : "");
    for (const button of first.form?.elements ?? []) {
      if (button.matches("[data-needs-span]")) button.disabled = !chosen;
    }
    element.dispatchEvent(new CustomEvent("spans:change", { bubbles: true }));
  }

  /* A selection that begins or ends outside is cut to the part inside. */
  function selectedIn(element) {
    const selection = getSelection();
    if (!selection.rangeCount || selection.isCollapsed) return null;
    const range = selection.getRangeAt(0).cloneRange();
    if (!range.intersectsNode(element)) return null;
    const all = document.createRange();
    all.selectNodeContents(element);
    if (range.compareBoundaryPoints(Range.START_TO_START, all) < 0) range.setStart(all.startContainer, all.startOffset);
    if (range.compareBoundaryPoints(Range.END_TO_END, all) > 0) range.setEnd(all.endContainer, all.endOffset);
    return range.collapsed ? null : unitsOf(element, range);
  }

  document.addEventListener("pointerup", () => {
    /* The selection is final only after the browser has handled the click itself. */
    setTimeout(() => {
      for (const element of document.querySelectorAll("[data-spans]")) {
        const units = selectedIn(element);
        if (units) { choose(element, units); element.cursor = null; return; }
      }
    });
  });

  /* By keyboard: the cursor is a run of sentences [from, to]. */
  const STEPS = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 };
  const within = (value, last) => Math.max(0, Math.min(value, last));

  function moved(cursor, step, extend, last) {
    if (!cursor) return step > 0 ? [0, 0] : [last, last];
    const to = within(cursor[1] + step, last);
    return extend ? [cursor[0], to] : [to, to];
  }

  const isSeen = (element, units) => rangeOf(element, ...units).getClientRects().length > 0;

  function step(element, by, extend) {
    const all = sentences(element.textContent).filter((units) => isSeen(element, units));
    if (!all.length) return;
    element.cursor = moved(element.cursor, by, extend, all.length - 1);
    const [low, high] = [...element.cursor].sort((a, b) => a - b);
    const units = [all[low][0], all[high][1]];
    getSelection().removeAllRanges();
    getSelection().addRange(rangeOf(element, ...units));
    choose(element, units);
    rangeOf(element, ...all[element.cursor[1]]).startContainer.parentElement?.scrollIntoView({ block: "nearest" });
  }

  document.addEventListener("keydown", (event) => {
    const element = event.target.closest?.("[data-spans]");
    if (!element || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in STEPS) {
      event.preventDefault();
      step(element, STEPS[event.key], event.shiftKey);
    } else if (event.key === "Escape") {
      getSelection().removeAllRanges();
      element.cursor = null;
      choose(element, null);
    }
  });

  /* A chosen piece can be copied into a field to be refined; what is typed there already stays. */
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("[data-copy-span]");
    if (!button) return;
    const source = document.querySelector(button.dataset.copySpan);
    const field = document.querySelector(button.dataset.copyTo);
    const [start, end] = source ? inputs(source).map((each) => Number(each.value)) : [0, 0];
    const whole = end > start ? "" : document.querySelector(button.dataset.copyElse)?.textContent ?? "";
    const piece = whole || [...source?.textContent ?? ""].slice(start, end).join("");
    field.value = field.value.trim() ? `${field.value}\n\n${piece}` : piece;
    field.dispatchEvent(new Event("input", { bubbles: true }));
    field.focus();
  });

  const all = () => document.querySelectorAll("[data-spans]");
  document.addEventListener("htmx:afterSettle", () => all().forEach(paintKept));
  document.addEventListener("DOMContentLoaded", () => all().forEach(paintKept));

  /* The piece is stored: the next one begins with an empty choice, at the same place. */
  document.addEventListener("segment:added", () => {
    for (const element of all()) {
      const { form } = inputs(element)[0];
      const text = form?.elements.namedItem("text");
      if (text) text.value = "";
      getSelection().removeAllRanges();
      choose(element, null);
      element.focus({ preventScroll: true });
    }
  });
})();
