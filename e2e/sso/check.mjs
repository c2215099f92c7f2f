// Signs in at the issuer as a browser does, and looks at what Loci's page then shows.
const [loci, key] = process.argv.slice(2);

class Browser {
  cookies = new Map();
  async go(url, form) {
    for (let hops = 0; hops < 20; hops++) {
      const host = new URL(url).host;
      const jar = this.cookies.get(host) ?? new Map();
      this.cookies.set(host, jar);
      const headers = { cookie: [...jar].map(([k, v]) => `${k}=${v}`).join('; '), accept: 'text/html' };
      if (form) Object.assign(headers, { origin: new URL(url).origin, 'content-type': 'application/x-www-form-urlencoded' });
      const res = await fetch(url, { method: form ? 'POST' : 'GET', body: form && new URLSearchParams(form), headers, redirect: 'manual' });
      for (const c of res.headers.getSetCookie()) {
        const [pair] = c.split(';');
        const at = pair.indexOf('=');
        if (/max-age=0|expires=Thu, 01 Jan 1970/i.test(c) || pair.length === at + 1) jar.delete(pair.slice(0, at));
        else jar.set(pair.slice(0, at), pair.slice(at + 1));
      }
      const to = res.headers.get('location') ?? res.headers.get('refresh')?.replace(/^0;url=/, '');
      const text = await res.text();
      if (!to) return { url, status: res.status, text };
      url = new URL(to, url).href;
      form = undefined;
    }
    throw new Error('too many redirects');
  }
  // submit sends the form of a page of the issuer's.
  submit(page, fields) {
    const action = page.text.match(/<form[^>]*action="([^"]+)"/)?.[1].replaceAll('&amp;', '&');
    const hidden = Object.fromEntries([...page.text.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)].map(m => [m[1], m[2]]));
    return this.go(new URL(action, page.url).href, { ...hidden, ...fields });
  }
  async signIn(name) {
    let page = await this.go(`${loci}/signin/sso?next=/settings`);
    page = await this.submit(page, { prompt: 'login', login: name, password: 'any' });
    if (!page.url.startsWith(loci)) page = await this.submit(page, { prompt: 'consent' });
    return page;
  }
}

function expect(what, is) {
  if (!is) {
    console.error(`FAIL ${what}`);
    process.exitCode = 1;
  } else console.log(`ok   ${what}`);
}

const ana = new Browser();
let page = await ana.signIn('ana');
expect('ana sees her settings and not the server\'s', page.status === 200 && page.text.includes('>ana<') && !page.text.includes('Configuration of this server'));
page = await ana.go(`${loci}/signout`, {});
expect('signing out leads to the issuer', page.url.includes('/session/end'));
page = await ana.submit(page, { logout: 'yes' });
expect('and back to the sign-in', page.url.startsWith(`${loci}/signin`));
page = await ana.go(`${loci}/`);
expect('after it the page is closed', page.url.includes('/signin'));

const root = new Browser();
page = await root.signIn('root');
expect('an operator sees the server\'s settings', page.text.includes('Configuration of this server') && page.text.includes('>root<'));
page = await root.go(`${loci}/switch`, { user: 'ana' });
expect('and may show ana\'s memory', page.text.includes('>ana<'));

const stolen = new Browser();
page = await stolen.go(`${loci}/signin/callback?code=x&state=y`);
expect('an answer to nobody\'s question signs nobody in', page.text.includes('begun elsewhere'));

const audit = await (await fetch(`${loci}/api/audit`, { headers: { 'x-loci-key': key } })).json();
const acts = audit.entries.map(e => `${e.act}|${e.by}|${e.user ?? ''}`);
for (const act of ['sign in|ana|ana', 'sign in|root|root', 'switch user|root|ana', 'sign in refused||']) {
  expect(`on record: ${act}`, acts.some(a => a.startsWith(act)));
}
