// The token of a server with roles: asked for when it is needed, kept for this tab alone.

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

  show(needed) {
    if (this.form.hidden !== needed) return;
    this.form.hidden = !needed;
    if (needed) this.form.querySelector("input").focus();
  }
}
