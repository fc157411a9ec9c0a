/* Citing passages while an answer is written. A button with data-cite puts its id, in brackets,
   where the cursor was; a number in brackets, typed in the field, becomes the id of that passage. */
"use strict";

(() => {
  /* As if it were typed: what the browser can undo stays undoable. */
  function type(field, text) {
    field.focus();
    if (!document.execCommand("insertText", false, text)) {
      field.setRangeText(text, field.selectionStart, field.selectionEnd, "end");
      field.dispatchEvent(new Event("input", { bubbles: true }));
    }
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("[data-cite]");
    const field = button && document.querySelector(button.dataset.citeInto);
    if (!field) return;
    const { selectionEnd, value } = field;
    field.focus();
    field.setSelectionRange(selectionEnd, selectionEnd);
    const before = value.slice(0, selectionEnd);
    const gap = before && !/[\s\]]$/.test(before) ? " " : "";
    type(field, `${gap}[${button.dataset.cite}]`);
  });

  document.addEventListener("input", (event) => {
    const field = event.target;
    if (!field.matches?.("[data-citing]") || event.data !== "]") return;
    const end = field.selectionStart;
    const typed = /\[(\d{1,3})\]$/.exec(field.value.slice(0, end));
    const button = typed && document.querySelector(`[data-cite-number="${Number(typed[1])}"]`);
    if (!button) return;
    field.setSelectionRange(end - typed[0].length, end);
    type(field, `[${button.dataset.cite}]`);
  });
})();
