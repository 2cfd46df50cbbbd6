"use strict";
// Adds to the page what plain HTML cannot do: charts, sorting, the choice of a fragment, dark mode.
(() => {
  const root = document.documentElement;
  const status = document.getElementById("status");
  root.classList.add("js");

  // Dark mode: what the reader chose, else what the system prefers.
  const toggle = document.getElementById("theme");
  const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches);
  const showTheme = () => toggle.setAttribute("aria-pressed", String(isDark()));
  toggle.hidden = false;
  toggle.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    showTheme();
  });
  prefersDark.addEventListener("change", showTheme);
  showTheme();

  // The choice of a fragment: one panel at a time.
  const choice = document.getElementById("choose-fragment");
  const panels = [...document.querySelectorAll(".fragment")];
  const showPanel = () => panels.forEach((panel) => (panel.hidden = panel.id !== choice.value));
  if (choice) {
    choice.addEventListener("change", showPanel);
    showPanel();
  }

  // Sorting: headers become buttons. Rows without a value stay last; a third press restores.
  const collator = new Intl.Collator("en-GB", { numeric: true, sensitivity: "base" });
  const key = (row, column) => {
    const cell = row.cells[column];
    if ("blank" in cell.dataset) return null;
    return "order" in cell.dataset ? Number(cell.dataset.order) : cell.textContent;
  };
  const compare = (a, b) =>
    typeof a === "number" && typeof b === "number" ? a - b : collator.compare(a, b);
  const sort = (table, rows, header, column) => {
    const next = { ascending: "descending", descending: "none" };
    const order = next[header.getAttribute("aria-sort")] ?? "ascending";
    table.querySelectorAll("thead th").forEach((th) => th.setAttribute("aria-sort", "none"));
    header.setAttribute("aria-sort", order);
    const sign = order === "descending" ? -1 : 1;
    const sorted = order === "none" ? rows : [...rows].sort((one, other) => {
      const [a, b] = [key(one, column), key(other, column)];
      if (a === null || b === null) return (a === null) - (b === null);
      return sign * compare(a, b);
    });
    table.tBodies[0].append(...sorted);
    const name = header.querySelector(".label").textContent;
    status.textContent = order === "none" ? "Sorted as at first" : `Sorted by ${name}, ${order}`;
  };
  document.querySelectorAll("table.sortable").forEach((table) => {
    const rows = [...table.tBodies[0].rows];
    [...table.tHead.rows[0].cells].forEach((header, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...header.childNodes);
      header.append(button);
      header.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => sort(table, rows, header, column));
    });
  });

  // Charts: as wide as their place, drawn one after the other so that the page stays responsive.
  const charts = [...document.querySelectorAll("figure")].map((figure) => ({
    box: figure.querySelector(".chart"),
    spec: JSON.parse(figure.querySelector("script").textContent),
    view: null,
  }));
  const place = () => {
    const visible = charts.find((chart) => chart.box.parentElement.clientWidth > 0);
    return Math.min(visible ? visible.box.parentElement.clientWidth : 640, 960);
  };
  const widthOf = (chart) => Math.max(place(), Number(chart.box.dataset.minWidth ?? 0));
  const draw = async (chart) => {
    const width = widthOf(chart);
    const config = { ...chart.spec.config };
    if (width < 480) config.axis = { ...config.axis, labelLimit: 110 };
    // The page's policy forbids eval and styles that are not in page.css: expressions are
    // interpreted, and neither charts nor tooltips bring styles of their own.
    const tooltip = { disableDefaultStyle: true };
    const options = {
      mode: "vega-lite", renderer: "svg", actions: false, ast: true, defaultStyle: false, tooltip,
    };
    const spec = { ...chart.spec, width, config };
    chart.view = (await window.vegaEmbed(chart.box, spec, options)).view;
  };
  const drawAll = async () => {
    root.dataset.charts = "drawing";
    for (const chart of charts) {
      chart.view?.finalize();
      try {
        await draw(chart);
      } catch (error) {
        console.error(error);
        chart.box.textContent = "This chart could not be drawn; see the table.";
      }
    }
    root.dataset.charts = "drawn";
  };
  let drawnAt = place();
  let waiting;
  window.addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      if (place() === drawnAt) return;
      drawnAt = place();
      drawAll();
    }, 200);
  });
  drawAll();
})();
