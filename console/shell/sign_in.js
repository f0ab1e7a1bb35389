import { html } from "../parts/html.js";
import { useState } from "../vendor/preact/hooks.js";
import { signIn } from "../net/api.js";
import { Failure, useAction } from "../parts/basic.js";

export function SignIn({ onSignedIn }) {
  const [token, setToken] = useState("");
  const [act, busy, error] = useAction(async () => onSignedIn(await signIn(token.trim())));
  document.title = "Sign in · Tidemark";
  return html`<main class="alone"><form class="card sign-in" onSubmit=${(e) => { e.preventDefault(); act(); }}>
    <h1><span class="mark" aria-hidden="true"></span>Tidemark</h1>
    <label class="field"><span>Token</span><input type="password" name="token" autocomplete="current-password" autofocus required value=${token} onInput=${(e) => setToken(e.target.value)} /></label>
    <${Failure} error=${error?.status === 401 ? Object.assign(error, { message: "This is not a token of this stack." }) : error} />
    <button class="primary" disabled=${busy}>${busy ? "Signing in…" : "Sign in"}</button>
    <p class="dim small">The token is in <code>run/token</code> of the data directory, or is the one that the api was started with.</p></form></main>`;
}
