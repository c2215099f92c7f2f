// A real OpenID Connect issuer on loopback for check.mjs: any name signs in, root is an operator.
import { Provider } from 'oidc-provider';

const [port, loci] = process.argv.slice(2);
const issuer = new Provider(`http://127.0.0.1:${port}`, {
  clients: [{
    client_id: 'loci', client_secret: 'issuer-secret-0123456789', redirect_uris: [`${loci}/signin/callback`],
    post_logout_redirect_uris: [`${loci}/signin`], grant_types: ['authorization_code'], response_types: ['code'],
  }],
  claims: { openid: ['sub', 'groups'], email: ['email'], profile: ['name'] },
  conformIdTokenClaims: false,
  pkce: { required: () => true },
  cookies: { keys: ['a key of the issuer'] },
  features: { devInteractions: { enabled: true }, rpInitiatedLogout: { enabled: true } },
  findAccount: (ctx, id) => ({ accountId: id, claims: () => ({ sub: id, groups: id === 'root' ? ['operators'] : ['staff'] }) }),
});
issuer.listen(Number(port), '127.0.0.1', () => console.log('ready'));
