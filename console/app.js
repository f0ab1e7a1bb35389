// Starts the page: finds out who is signed in, then shows the view that the address names.
import { render } from "./vendor/preact/preact.js";
import { useEffect, useState } from "./vendor/preact/hooks.js";
import { html } from "./parts/html.js";
import { applyTheme } from "./shell/settings.js";
import { SignIn } from "./shell/sign_in.js";
import { Shell } from "./shell/shell.js";
import { Failure } from "./parts/basic.js";
import { whenSignedOut, whoAmI } from "./net/api.js";

function App() {
  const [who, setWho] = useState(undefined);
  const [error, setError] = useState(null);
  const look = () => whoAmI().then((found) => { setError(null); setWho(found); }, setError);
  useEffect(() => { whenSignedOut(() => setWho(null)); look(); }, []);
  useEffect(() => {
    if (!error) return undefined;
    const timer = setTimeout(look, 3_000);
    return () => clearTimeout(timer);
  }, [error]);
  // A session that can only read for now gets its rights back by itself.
  const readOnly = Boolean(who?.readOnly);
  useEffect(() => {
    if (!readOnly) return undefined;
    const timer = setInterval(() => whoAmI().then(setWho, () => {}), 2_000);
    return () => clearInterval(timer);
  }, [readOnly]);
  if (error) return html`<main class="alone"><${Failure} error=${error} retry=${look} /></main>`;
  if (who === undefined) return null;
  if (who === null) return html`<${SignIn} onSignedIn=${setWho} />`;
  return html`<${Shell} who=${who} onSignOut=${() => setWho(null)} />`;
}

applyTheme();
render(html`<${App} />`, document.getElementById("app"));
