// Elements, made from names, attributes and children. Text only ever becomes a text node,
// whatever characters it has.

const SVG = "http://www.w3.org/2000/svg";

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (typeof value === "function") {
      element.addEventListener(name, value);
    } else {
      element.setAttribute(name, value === true ? "" : value);
    }
  }
  element.append(...children.flat().filter((child) => child !== undefined));
  return element;
}

// An attribute whose value is a function listens for the event of that name.
export function html(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

export function svg(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

// Sets a text where it differs, so that nothing is announced or selected anew.
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// A table; `columns` are { text, numeric }, rows arrays of texts or nodes. The first cell
// of each row is its header.
export function table(columns, rows, attributes = {}) {
  const classOf = (i) => (columns[i].numeric ? "numeric" : undefined);
  const head = columns.map((column, i) =>
    html("th", { scope: "col", class: classOf(i) }, column.text));
  const body = rows.map((cells) => html("tr", {}, cells.map((cell, i) =>
    html(i === 0 ? "th" : "td", {
      scope: i === 0 ? "row" : undefined,
      class: classOf(i),
      "data-label": columns[i].text,
    }, cell))));
  return html("table", attributes, html("thead", {}, html("tr", {}, head)),
    html("tbody", {}, body));
}
