import { createHash, generateKeyPairSync, randomBytes, sign } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

type Login = { redirectUri: string; nonce: string; challenge: string; clientId: string };

/** What the provider does wrong in a test. */
export type Lie = "nonce" | "audience" | "issuer" | "signature" | "expired" | "none-algorithm" | "state";

export type IdentityProvider = {
  issuer: string;
  /** The claims of whoever signs in next. */
  person: Record<string, unknown>;
  lie: Lie | undefined;
  /** Claims that only the userinfo endpoint tells. */
  onlyUserinfo: string[];
  offersSignOut: boolean;
  secret: string;
  requests: string[];
};

/** An OpenID Connect provider on loopback, with the checks that a real one makes: PKCE, the secret, one use of a code. */
export async function startProvider(): Promise<IdentityProvider> {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const other = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
  const codes = new Map<string, Login>();
  const server = createServer((request, response) => void answer(request, response));
  const provider: IdentityProvider = {
    ...{ issuer: "", person: {}, lie: undefined, onlyUserinfo: [], offersSignOut: true, requests: [] },
    secret: randomBytes(12).toString("hex"),
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", provider.issuer);
    provider.requests.push(url.pathname);
    const send = (status: number, body: object) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    if (url.pathname === "/.well-known/openid-configuration") {
      return void send(200, {
        issuer: provider.issuer,
        authorization_endpoint: `${provider.issuer}/authorize`,
        token_endpoint: `${provider.issuer}/token`,
        userinfo_endpoint: `${provider.issuer}/userinfo`,
        jwks_uri: `${provider.issuer}/keys`,
        response_types_supported: ["code"],
        subject_types_supported: ["public"],
        id_token_signing_alg_values_supported: ["RS256"],
        code_challenge_methods_supported: ["S256"],
        ...(provider.offersSignOut ? { end_session_endpoint: `${provider.issuer}/end` } : {}),
      });
    }
    if (url.pathname === "/keys")
      return void send(200, {
        keys: [{ ...publicKey.export({ format: "jwk" }), kid: "k1", alg: "RS256", use: "sig" }],
      });
    if (url.pathname === "/authorize") {
      const asked = url.searchParams;
      const code = randomBytes(12).toString("hex");
      codes.set(code, {
        redirectUri: asked.get("redirect_uri") ?? "",
        nonce: asked.get("nonce") ?? "",
        challenge: asked.get("code_challenge") ?? "",
        clientId: asked.get("client_id") ?? "",
      });
      const state = provider.lie === "state" ? "made-up" : (asked.get("state") ?? "");
      const back = new URL(asked.get("redirect_uri") ?? "");
      back.search = String(new URLSearchParams({ code, state }));
      return void response.writeHead(302, { location: back.href }).end();
    }
    if (url.pathname === "/token") {
      let text = "";
      for await (const chunk of request) text += chunk;
      const form = new URLSearchParams(text);
      const login = codes.get(form.get("code") ?? "");
      codes.delete(form.get("code") ?? "");
      const basic = Buffer.from((request.headers.authorization ?? "").replace("Basic ", ""), "base64").toString();
      const hashed = createHash("sha256")
        .update(form.get("code_verifier") ?? "")
        .digest("base64url");
      if (basic !== `scriptorium:${provider.secret}`) return void send(401, { error: "invalid_client" });
      if (!login || login.challenge !== hashed || login.redirectUri !== form.get("redirect_uri"))
        return void send(400, { error: "invalid_grant" });
      return void send(200, {
        access_token: "access",
        token_type: "Bearer",
        expires_in: 60,
        id_token: idToken(login),
      });
    }
    if (url.pathname === "/userinfo") return void send(200, provider.person);
    send(404, {});
  }

  function idToken(login: Login): string {
    const now = Math.floor(Date.now() / 1000);
    const { lie } = provider;
    const shown = Object.entries(provider.person).filter(([name]) => !provider.onlyUserinfo.includes(name));
    const claims = {
      iss: lie === "issuer" ? "http://127.0.0.1:1" : provider.issuer,
      aud: lie === "audience" ? "another" : login.clientId,
      iat: lie === "expired" ? now - 7200 : now,
      exp: lie === "expired" ? now - 3600 : now + 300,
      nonce: lie === "nonce" ? "another" : login.nonce,
      ...Object.fromEntries(shown),
    };
    const alg = lie === "none-algorithm" ? "none" : "RS256";
    const signed = [{ alg, kid: "k1", typ: "JWT" }, claims].map((part) => encode(JSON.stringify(part))).join(".");
    if (alg === "none") return `${signed}.`;
    const key = lie === "signature" ? other : privateKey;
    return `${signed}.${sign("sha256", Buffer.from(signed), key).toString("base64url")}`;
  }

  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  provider.issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return provider;
}

const encode = (text: string) => Buffer.from(text).toString("base64url");
