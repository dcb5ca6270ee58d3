"use strict";
(() => {
  const table = document.querySelector("table.rules");
  if (!table) return;
  document.documentElement.classList.add("js");
  const tools = document.querySelector(".tools");
  tools.hidden = false;
  const bodies = [...table.tBodies];
  const find = document.getElementById("find");
  const shapes = document.getElementById("shapes");
  const shown = document.getElementById("shown");
  const none = document.getElementById("none");
  const texts = new Map();

  // What is searched: the row, and what else a reader may know of a rule; made when it is first needed.
  const textOf = (body) => {
    if (!texts.has(body)) texts.set(body, `${body.rows[0].textContent} ${body.dataset.search}`.toLowerCase());
    return texts.get(body);
  };

  // The details of a row are text until it is opened for the first time.
  const fill = (body) => {
    const source = body.querySelector(".detail > noscript");
    if (source) source.parentNode.innerHTML = source.textContent;
  };

  const set = (body, open) => {
    if (open) fill(body);
    const button = body.querySelector(".toggle");
    body.classList.toggle("open", open);
    button.setAttribute("aria-expanded", String(open));
    body.rows[1].querySelector("details").open = open;
    if (open) reachable(body);
  };

  // What is wider than its place can be scrolled by keys.
  const reachable = (body) => {
    for (const part of body.querySelectorAll(".sides dd, .statement")) {
      if (part.scrollWidth > part.clientWidth) part.tabIndex = 0;
      else part.removeAttribute("tabindex");
    }
  };

  const filter = () => {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    const verdicts = new Set([...tools.querySelectorAll("input[name=verdict]:checked")].map((box) => box.value));
    let count = 0;
    for (const body of bodies) {
      const fits = verdicts.has(body.dataset.verdict)
        && (!shapes || !shapes.value || body.dataset.shapes === shapes.value)
        && (!words.length || words.every((word) => textOf(body).includes(word)));
      body.hidden = !fits;
      count += fits;
    }
    shown.textContent = `${count} of ${bodies.length} shown`;
    none.hidden = count > 0;
  };

  const sort = (button) => {
    const head = button.closest("th");
    const ascending = head.getAttribute("aria-sort") !== "ascending";
    for (const other of table.tHead.querySelectorAll("[aria-sort]")) other.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
    const { by } = button.dataset;
    const number = "number" in button.dataset;
    const place = new Map(bodies.map((body, k) => [body, k]));
    const order = [...bodies].sort((a, b) => {
      const [x, y] = [a.dataset[by], b.dataset[by]];
      const less = number ? x - y : x < y ? -1 : x > y ? 1 : 0;
      return (ascending ? less : -less) || place.get(a) - place.get(b);
    });
    const rest = document.createDocumentFragment();
    rest.append(...order);
    table.append(rest);
  };

  const follow = () => {
    const id = decodeURIComponent(location.hash.slice(1));
    const body = bodies.find((one) => one.id === id || one.id === id.replace(/-more$/, ""));
    if (!body) return;
    if (body.hidden) { tools.reset(); filter(); }
    set(body, true);
    body.scrollIntoView();
  };

  let waiting = 0;
  find.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(filter, 60); });
  tools.addEventListener("change", (event) => { if (event.target !== find) filter(); });
  tools.addEventListener("reset", () => setTimeout(filter));
  tools.addEventListener("submit", (event) => event.preventDefault());
  document.getElementById("open-all").addEventListener("click", () => bodies.forEach((body) => body.hidden || set(body, true)));
  document.getElementById("close-all").addEventListener("click", () => bodies.forEach((body) => set(body, false)));
  table.tHead.addEventListener("click", (event) => {
    const button = event.target.closest(".sort");
    if (button) sort(button);
  });
  table.addEventListener("click", (event) => {
    const row = event.target.closest("tr.row");
    if (!row || String(getSelection()) || event.target.closest("a")) return;
    const body = row.parentNode;
    const open = !body.classList.contains("open");
    set(body, open);
    if (open) history.replaceState(null, "", `#${body.id}`);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    event.preventDefault();
    find.focus();
  });
  addEventListener("hashchange", follow);
  addEventListener("resize", () => table.querySelectorAll("tbody.open").forEach(reachable));
  filter();
  follow();
})();
