// The token of a server with roles: asked for when it is needed, kept for this tab alone.

import { setText } from "./elements.js";

const KEY = "evenpack-token";

export function keptToken() {
  return sessionStorage.getItem(KEY) ?? "";
}

export class TokenForm {
  // `onToken()` is called when there is another.
  constructor(form, onToken) {
    this.form = form;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const field = form.querySelector("input");
      sessionStorage.setItem(KEY, field.value.trim());
      field.value = "";
      onToken();
    });
  }

  // `wanted`: what token, in words; undefined: none.
  show(wanted) {
    const needed = wanted !== undefined;
    if (needed) setText(this.form.querySelector("span"), wanted);
    if (this.form.hidden !== needed) return;
    this.form.hidden = !needed;
    if (needed) this.form.querySelector("input").focus();
  }
}
