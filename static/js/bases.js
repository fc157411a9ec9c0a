/* Rows that several people edit: hidden inputs named base_content, base_weight, ... say what each
   field held when the writing began. By them the server sees what this person changed, and keeps
   somebody else's words in the rest. A base moves only together with what it is the base of. */
"use strict";

(() => {
  const PREFIX = "base_";

  const all = (form) => [...form.elements].filter((each) => each.name?.startsWith(PREFIX));
  const isBase = (name) => name.startsWith(PREFIX);

  /* As pairs of the field's name and its base. */
  const read = (form) => all(form).map(({ name, value }) => [name.slice(PREFIX.length), value]);

  function set(form, name, value) {
    const base = form.elements[PREFIX + name];
    if (base) base.value = value;
  }

  /* After a save: puts what somebody else wrote into fields that were not touched since `sent`.
     A field that is being written in stays as it is, with its base, and the next save tells. */
  function follow(form, sent) {
    const fields = JSON.parse(sent);
    for (const base of all(form).filter((each) => "theirsNow" in each.dataset)) {
      const name = base.name.slice(PREFIX.length);
      const control = form.elements[name];
      // A choice that nobody made was not sent: it is as empty here as there.
      const entry = fields.find(([each]) => each === name) ?? [name, ""];
      if (control === document.activeElement || control.value !== entry[1]) continue;
      control.value = base.value = base.dataset.theirsNow;
      entry[1] = control.value;
      if (!fields.includes(entry)) fields.push(entry);
    }
    return JSON.stringify(fields);
  }

  window.assay.bases = { isBase, read, set, follow };
})();
